import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { type ChartColors, readColors, useThemeVersion } from "./chart-colors.ts";
import { drawAbove, drawSpans, plotTop } from "./chart-drawing.ts";
import { type Line, lines, tickLabel, valuesOf } from "./history-facts.ts";

interface Props {
  readonly history: MoodHistory;
  readonly hidden: ReadonlySet<Line>;
  /** The moment that is pointed at, by its place in the history. */
  readonly index: number | undefined;
  readonly onIndex: (index: number | undefined) => void;
}

const height = 300;

/** The levels over time, drawn. The text beside it says the same. */
export function HistoryChart(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const theme = useThemeVersion();

  // biome-ignore lint/correctness/useExhaustiveDependencies: each theme has its own chart
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(
      optionsOf(element.clientWidth, readColors(element), latest),
      dataOf(latest.current.history),
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [theme]);

  useEffect(() => plot.current?.setData(dataOf(props.history)), [props.history]);
  useEffect(() => {
    for (const [index, line] of lines.entries()) {
      const isShown = !props.hidden.has(line);
      if (plot.current?.series[index + 1]?.show === isShown) continue;
      plot.current?.setSeries(index + 1, { show: isShown });
    }
  }, [props.hidden]);
  useEffect(() => {
    const at = props.index === undefined ? undefined : props.history.at[props.index];
    const left = at === undefined ? -10 : (plot.current?.valToPos(at, "x") ?? -10);
    if (plot.current?.cursor.idx !== props.index) plot.current?.setCursor({ left, top: 0 }, false);
  }, [props.index, props.history]);

  return <div className="history-chart" ref={place} aria-hidden="true" />;
}

function dataOf(history: MoodHistory): uPlot.AlignedData {
  return [[...history.at], ...lines.map((line) => [...valuesOf(history, line)])];
}

function optionsOf(
  width: number,
  colors: ChartColors,
  latest: { readonly current: Props },
): uPlot.Options {
  const axis = {
    stroke: colors.muted,
    font: "12px system-ui, sans-serif",
    ticks: { show: false },
  };
  const grid = { stroke: colors.line, width: 1 };
  return {
    width,
    height,
    ms: 1,
    padding: [plotTop, 28, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: true, range: () => [latest.current.history.from, latest.current.history.to] },
      y: { range: () => [0, 1] },
    },
    series: [{}, ...lines.map((line) => seriesOf(line, colors, latest.current.hidden))],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 74,
        values: (_plot, splits, _axis, _space, step) => splits.map((at) => tickLabel(at, step)),
      },
      {
        ...axis,
        grid,
        size: 46,
        splits: () => [0, 0.25, 0.5, 0.75, 1],
        values: (_plot, splits) => splits.map((level) => `${level * 100} %`),
      },
    ],
    hooks: {
      drawClear: [(plot) => drawSpans(plot, latest.current.history, colors)],
      draw: [(plot) => drawAbove(plot, latest.current.history, colors)],
      setCursor: [(plot) => latest.current.onIndex(plot.cursor.idx ?? undefined)],
    },
  };
}

function seriesOf(line: Line, colors: ChartColors, hidden: ReadonlySet<Line>): uPlot.Series {
  return {
    label: line,
    stroke: colors[line],
    width: line === "boredom" ? 1.5 : 2,
    show: !hidden.has(line),
    points: { show: false },
    dash: line === "boredom" ? [4, 4] : [],
  };
}
