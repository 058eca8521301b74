// A chart on a canvas. It uses the theme's colours and redraws when they or its width change. It has an accessible
// name; callers provide the same numbers in a table.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Line {
  name: string;
  values: (number | null)[];
  /** A CSS variable of the theme, such as `--static`. */
  colour: string;
  /** Dash patterns distinguish lines without colour. */
  dash?: number[];
}

export interface ChartProps {
  label: string;
  kind: "bars" | "line";
  /** The label of each point on the x axis. */
  labels: string[];
  lines: Line[];
  format: (value: number) => string;
  /** The maximum of the y axis, if it is not the highest value. */
  top?: number;
  /** The unit of the x axis, such as `turn`. */
  xLabel?: string;
}

const HEIGHT = 190;

export function Chart(props: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const drawn = JSON.stringify([props.kind, props.labels, props.lines, props.top]);
  useEffect(() => {
    const host = container.current;
    if (!host) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(optionsOf(props, host, setAt), dataOf(props), host);
    };
    draw();
    const sized = new ResizeObserver(() => plot?.setSize({ width: host.clientWidth, height: HEIGHT }));
    sized.observe(host);
    const machine = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("foreword-theme", draw);
    machine.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      removeEventListener("foreword-theme", draw);
      machine.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [drawn]);
  return (
    <figure class="chart">
      <div ref={container} role="img" aria-label={props.label} />
      <p class="under quiet" aria-hidden="true">
        {at === null ? range(props) : describePoint(props, at)}
      </p>
    </figure>
  );
}

/** Shown while the pointer is not over the chart: the range of the values. */
function range({ lines, format }: ChartProps): string {
  const known = lines.flatMap((line) => line.values).filter((value) => value !== null);
  return known.length === 0 ? "no data" : `${format(Math.min(...known))} to ${format(Math.max(...known))}`;
}

/** Describes the point under the pointer. */
function describePoint({ labels, lines, format, xLabel }: ChartProps, at: number): string {
  const values = lines.map((line) => {
    const value = line.values[at];
    return `${lines.length > 1 ? `${line.name} ` : ""}${value === null || value === undefined ? "unknown" : format(value)}`;
  });
  return `${xLabel ? `${xLabel} ` : ""}${labels[at] ?? ""}: ${values.join(", ")}`;
}

function dataOf({ labels, lines }: ChartProps): uPlot.AlignedData {
  return [labels.map((_, at) => at), ...lines.map((line) => line.values)];
}

function optionsOf(
  { kind, labels, lines, format, top }: ChartProps,
  host: HTMLElement,
  hover: (at: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `12px ${getComputedStyle(host).fontFamily}`;
  const axis = {
    stroke: colour("--quiet"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: host.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [12, 12, 0, 0],
    cursor: { x: true, y: false, drag: { x: false, y: false }, points: { show: kind === "line" } },
    scales: {
      x: { time: false, range: [-0.6, Math.max(1, labels.length) - 0.4] },
      y: { range: (_, __, highest) => [0, top ?? (highest || 1) * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        splits: () => splitsOf(labels.length, Math.max(2, Math.floor(host.clientWidth / 75))),
        values: (_, splits) => splits.map((split) => labels[split] ?? ""),
      },
      { ...axis, size: 64, values: (_, splits) => splits.map(format) },
    ],
    series: [{}, ...lines.map((line) => seriesOf(kind, line, colour))],
    hooks: { setCursor: [(plot) => hover(plot.cursor.idx ?? null)] },
  };
}

function seriesOf(kind: ChartProps["kind"], line: Line, colour: (name: string) => string): uPlot.Series {
  const stroke = colour(line.colour);
  if (kind === "bars")
    return {
      stroke,
      fill: stroke,
      width: 0,
      ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.72, 44] }) }),
      points: { show: false },
    };
  const known = line.values.filter((value) => value !== null).length;
  return {
    stroke,
    width: 2,
    spanGaps: true,
    points: { show: known < 40, size: 5, fill: stroke },
    ...(line.dash && { dash: line.dash }),
  };
}

/** As many axis labels as fit without overlap, at whole steps. */
export function splitsOf(points: number, room: number): number[] {
  const step = Math.max(1, Math.ceil(points / room));
  return Array.from({ length: Math.ceil(points / step) }, (_, at) => at * step);
}
