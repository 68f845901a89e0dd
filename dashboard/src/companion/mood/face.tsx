import type { CSSProperties } from "react";
import "./face.css";

/** The face of a mood. Angles in degrees, lengths in units of the 200 x 200 drawing. */
interface Look {
  /** How far the eyes are open: 1 is at rest. */
  readonly eyes: number;
  /** Which way the eyes look, in units. */
  readonly gaze: readonly [x: number, y: number];
  /** The inner ends of the brows go up (positive, worry) or down (negative, anger). */
  readonly brows: number;
  readonly browLift: number;
  /** The corners of the mouth go up (positive) or down. */
  readonly smile: number;
  /** How far the mouth is open, in units. */
  readonly open: number;
  readonly width: number;
  readonly tilt: number;
  /** How round the head is: 50 is a circle, less is more of a block. */
  readonly round: number;
  readonly stretch: number;
}

const calm: Look = {
  eyes: 0.8,
  gaze: [0, 0],
  brows: 0,
  browLift: 0,
  smile: 4,
  open: 0,
  width: 22,
  tilt: 0,
  round: 46,
  stretch: 1,
};

const looks = new Map<string, Look>([
  ["calm", calm],
  ["happy", { ...calm, eyes: 1, smile: 14, width: 26, browLift: 2, round: 47 }],
  [
    "excited",
    { ...calm, eyes: 1.2, smile: 20, open: 16, width: 30, browLift: 9, stretch: 1.05, round: 50 },
  ],
  ["curious", { ...calm, eyes: 1.15, gaze: [7, -5], smile: 6, width: 18, browLift: 6, tilt: 7 }],
  ["thinking", { ...calm, eyes: 0.75, gaze: [-8, -8], smile: 0, width: 14, brows: -6, tilt: -5 }],
  [
    "sad",
    {
      ...calm,
      eyes: 0.7,
      gaze: [0, 6],
      brows: 18,
      smile: -12,
      width: 22,
      stretch: 0.95,
      round: 44,
    },
  ],
  [
    "disappointed",
    { ...calm, eyes: 0.65, gaze: [5, 4], brows: -12, smile: -7, width: 24, tilt: 3 },
  ],
  ["surprised", { ...calm, eyes: 1.4, browLift: 14, smile: 2, open: 22, width: 13, stretch: 1.06 }],
  [
    "sleepy",
    { ...calm, eyes: 0.22, brows: 5, smile: 3, width: 16, tilt: -8, stretch: 0.93, round: 48 },
  ],
  [
    "asleep",
    { ...calm, eyes: 0.12, brows: 4, smile: 3, width: 16, tilt: -8, stretch: 0.93, round: 48 },
  ],
  ["proud", { ...calm, eyes: 0.45, smile: 13, width: 24, browLift: 6, stretch: 1.03, round: 48 }],
]);

interface FaceProps {
  /** A mood, or "asleep"; one that it does not know is shown calm. */
  readonly mood: string;
  /** In a line of text: fewer and thicker lines, and it does not breathe. */
  readonly isSmall?: boolean;
}

/** An abstract face that takes on the mood. It is as wide as what it stands in. */
export function Face({ mood, isSmall = false }: FaceProps) {
  const look = looks.get(mood) ?? calm;
  const style = {
    "--tilt": `${look.tilt}deg`,
    "--stretch": look.stretch,
    "--round": `${look.round}%`,
    "--eyes": look.eyes,
    "--gaze": `${look.gaze[0]}px, ${look.gaze[1]}px`,
    "--brow-lift": `${-look.browLift}px`,
    "--brow-left": `${-look.brows}deg`,
    "--brow-right": `${look.brows}deg`,
    "--mouth": `path("${mouth(look)}")`,
  } as CSSProperties;
  return (
    <div className={isSmall ? "face face-small" : "face"} style={style}>
      <div className="face-head" />
      <svg viewBox="0 0 200 200" aria-hidden="true">
        <g className="face-features">
          <path className="face-brow face-brow-left" d="M56 68 Q70 62 84 68" />
          <path className="face-brow face-brow-right" d="M116 68 Q130 62 144 68" />
          <g className="face-gaze">
            <ellipse className="face-eye" cx="70" cy="92" rx="8.5" ry="11" />
            <ellipse className="face-eye" cx="130" cy="92" rx="8.5" ry="11" />
          </g>
          <path className="face-mouth" d={mouth(look)} />
        </g>
        {mood === "asleep" ? (
          <path className="face-sleep" d="M150 34h22l-22 26h22M178 4h14l-14 17h14" />
        ) : null}
      </svg>
    </div>
  );
}

/** The lips as one closed curve: a line when shut, round when narrow and open. */
function mouth({ smile, open, width }: Look): string {
  const [left, right, corner] = [100 - width, 100 + width, 134 - smile / 2];
  const upper = corner + 0.68 * (1.5 * smile - open / 2);
  const lower = corner + 0.68 * (1.5 * smile + open);
  const inset = width * 0.4;
  const [from, to] = [left + inset, right - inset];
  return (
    `M${left} ${corner} C${from} ${upper} ${to} ${upper} ${right} ${corner} ` +
    `C${to} ${lower} ${from} ${lower} ${left} ${corner} Z`
  );
}
