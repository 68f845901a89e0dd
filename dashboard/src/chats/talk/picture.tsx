import type { ReactNode } from "react";
import { Icon } from "../../ui/icon.tsx";

interface PictureProps {
  /** Empty where it could run, or holds the picture itself. */
  readonly src: string | undefined;
  readonly alt: string | undefined;
}

/** A picture in a model's words. It is not loaded: its server would learn who reads this, and when. */
export function Picture({ src, alt }: PictureProps) {
  const from = src === undefined || src === "" ? undefined : placeOf(src);
  return (
    <span className="picture">
      <Icon name="picture" size={17} />
      <span>{alt === undefined || alt === "" ? "Picture" : alt}</span>{" "}
      {from === undefined ? (
        <span className="picture-from">no address</span>
      ) : (
        <>
          <span className="picture-from">{from}</span>{" "}
          <Elsewhere href={src} label={`Open the picture, ${from}`}>
            Open
          </Elsewhere>
        </>
      )}
    </span>
  );
}

interface ElsewhereProps {
  readonly href: string | undefined;
  readonly title?: string | undefined;
  readonly label?: string;
  readonly children: ReactNode;
}

/** A link to elsewhere: it tells nothing about this page, and opens in another tab. */
export function Elsewhere({ href, title, label, children }: ElsewhereProps) {
  return (
    <a
      href={href}
      title={title}
      aria-label={label}
      target="_blank"
      rel="noreferrer noopener nofollow"
    >
      {children}
    </a>
  );
}

/** The host that an address leads to; the address itself where it leads to this server. */
export function placeOf(address: string): string {
  const { host } = URL.parse(address, location.origin) ?? location;
  return host === location.host || host === "" ? address : host;
}
