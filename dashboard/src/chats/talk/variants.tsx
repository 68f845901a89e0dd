import "./variants.css";
import type { Message } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";

interface VariantsProps {
  readonly message: Message;
  /** Shows the answer with this id. */
  readonly choose: (answerId: string) => void;
}

/** Which of the answers to its message this one is, and the way to the others. Nothing where it is the only one. */
export function Variants({ message, choose }: VariantsProps) {
  const { variants = [] } = message;
  const at = variants.indexOf(message.id);
  if (variants.length < 2 || at < 0) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <span className="fine variants" role="group" aria-label="Answers to the same message">
      <Step label="Previous answer" icon="back" to={variants[at - 1]} choose={choose} />
      <span aria-live="polite">
        <span className="visually-hidden">{`Answer ${at + 1} of ${variants.length}`}</span>
        <span aria-hidden="true">{`${at + 1}/${variants.length}`}</span>
      </span>
      <Step label="Next answer" icon="next" to={variants[at + 1]} choose={choose} />
    </span>
  );
}

/** At either end it keeps the focus and does nothing. */
function Step({
  label,
  icon,
  to,
  choose,
}: Pick<VariantsProps, "choose"> & {
  readonly label: string;
  readonly icon: "back" | "next";
  readonly to: string | undefined;
}) {
  return (
    <Button
      kind="quiet"
      className="action"
      aria-label={label}
      title={label}
      isBusy={to === undefined}
      onClick={() => to !== undefined && choose(to)}
    >
      <Icon name={icon} size={16} />
    </Button>
  );
}
