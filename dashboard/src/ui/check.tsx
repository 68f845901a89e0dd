import type { ComponentProps } from "react";

interface CheckProps extends Pick<ComponentProps<"input">, "name" | "children"> {
  readonly isOn: boolean;
  readonly set: (isOn: boolean) => void;
  /** One of several, of which one is on. */
  readonly isRadio?: boolean;
}

/** Something that is on or off, with its words. */
export function Check({ isOn, set, isRadio = false, name, children }: CheckProps) {
  return (
    <label className="check">
      <input
        type={isRadio ? "radio" : "checkbox"}
        name={name}
        checked={isOn}
        onChange={(event) => set(event.target.checked)}
      />
      {children}
    </label>
  );
}
