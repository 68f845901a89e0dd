import type uPlot from "uplot";
import type { MoodHistory } from "../../api/openapi-types.ts";
import type { ChartColors } from "./chart-colors.ts";
import { downSpans, moodSpans, woundSpans } from "./history-facts.ts";
import { groupOf, inWords } from "./words.ts";

// Lengths in CSS pixels from the canvas's upper edge: the moods, then the events, then the plot.
const ribbon = { top: 2, height: 20 } as const;
const eventsAt = 34;
export const plotTop = 46;

interface Brush {
  readonly ctx: CanvasRenderingContext2D;
  /** Canvas pixels in one CSS pixel. */
  readonly scale: number;
  readonly box: uPlot.BBox;
  /** A moment's place, within the plot, in canvas pixels. */
  x(at: number): number;
}

function brushOf(plot: uPlot): Brush {
  const { ctx, bbox: box } = plot;
  const right = box.left + box.width;
  return {
    ctx,
    box,
    scale: devicePixelRatio,
    x: (at) => Math.min(right, Math.max(box.left, plot.valToPos(at, "x", true))),
  };
}

/** Under the lines: where no run was up, and how long each wound lasted. */
export function drawSpans(plot: uPlot, history: MoodHistory, colors: ChartColors): void {
  const brush = brushOf(plot);
  const { ctx, box, scale } = brush;
  ctx.save();
  for (const { from, to } of downSpans(history)) hatch(brush, brush.x(from), brush.x(to), colors);
  for (const { from, to } of woundSpans(history)) {
    const width = Math.max(2 * scale, brush.x(to) - brush.x(from));
    ctx.fillStyle = colors.danger;
    ctx.globalAlpha = 0.07;
    ctx.fillRect(brush.x(from), box.top, width, box.height);
    ctx.globalAlpha = 0.9;
    ctx.fillRect(brush.x(from), box.top - 3 * scale, width, 3 * scale);
  }
  ctx.restore();
}

function hatch({ ctx, box, scale }: Brush, from: number, to: number, colors: ChartColors): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, box.top, to - from, box.height);
  ctx.clip();
  ctx.strokeStyle = colors.edge;
  ctx.lineWidth = scale;
  ctx.globalAlpha = 0.35;
  ctx.beginPath();
  for (let x = from - box.height; x < to; x += 7 * scale) {
    ctx.moveTo(x, box.top + box.height);
    ctx.lineTo(x + box.height, box.top);
  }
  ctx.stroke();
  ctx.restore();
}

/** Above the plot: the moods as a ribbon, and a mark for each event. */
export function drawAbove(plot: uPlot, history: MoodHistory, colors: ChartColors): void {
  const brush = brushOf(plot);
  brush.ctx.save();
  drawMoods(brush, history, colors);
  drawEvents(brush, history, colors);
  brush.ctx.restore();
}

function drawMoods(brush: Brush, history: MoodHistory, colors: ChartColors): void {
  const { ctx, scale } = brush;
  ctx.font = `${11.5 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const { mood, from, to } of moodSpans(history)) {
    const left = brush.x(from);
    const width = Math.max(scale, brush.x(to) - left - scale);
    const [color, alpha] = toneOf(mood, colors);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.fillRect(left, ribbon.top * scale, width, ribbon.height * scale);
    const name = inWords(mood);
    if (ctx.measureText(name).width + 8 * scale > width) continue;
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors.ink;
    ctx.fillText(name, left + width / 2, (ribbon.top + ribbon.height / 2 + 0.5) * scale);
  }
  ctx.globalAlpha = 1;
}

/** Moods by their tone; the name beside each tells them apart. */
function toneOf(mood: string, colors: ChartColors): readonly [color: string, alpha: number] {
  if (["sad", "disappointed", "surprised"].includes(mood)) return [colors.danger, 0.24];
  if (["happy", "proud", "curious"].includes(mood)) return [colors.accent, 0.2];
  if (mood === "excited") return [colors.accent, 0.38];
  return [colors.muted, mood === "sleepy" ? 0.28 : 0.14];
}

function drawEvents(brush: Brush, history: MoodHistory, colors: ChartColors): void {
  const { ctx, scale } = brush;
  const y = eventsAt * scale;
  const drawn = new Set<string>();
  for (const { at, event } of history.events) {
    const x = brush.x(at);
    const group = groupOf(event);
    // Marks on the same spot are drawn once.
    const spot = `${group} ${Math.round(x / (2 * scale))}`;
    if (drawn.has(spot)) continue;
    drawn.add(spot);
    ctx.beginPath();
    if (group === "harm") {
      ctx.fillStyle = colors.danger;
      ctx.moveTo(x - 5 * scale, y - 4 * scale);
      ctx.lineTo(x + 5 * scale, y - 4 * scale);
      ctx.lineTo(x, y + 5 * scale);
    } else {
      ctx.fillStyle = group === "kindness" ? colors.accent : colors.muted;
      ctx.arc(x, y, 4 * scale, 0, 2 * Math.PI);
    }
    ctx.closePath();
    ctx.fill();
  }
}
