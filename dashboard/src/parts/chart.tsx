// A line chart over the last hour.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Line {
  label: string;
  values: (number | null)[];
  colour?: string; // the name of one of the style sheet's colours
}

const COLOURS = ["#2f6fed", "#d97706", "#12946b", "#a855f7", "#c2344d"];
const HEIGHT = 170;
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

interface Props {
  title: string;
  times: number[];
  lines: Line[];
  least?: number; // what the axis reaches at least
}

export function Chart({ title, times, lines, least = 1 }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const names = lines.map((line) => line.label).join("\n");
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const draw = () => {
      plot.current?.destroy();
      const data: uPlot.AlignedData = [times, ...lines.map((line) => line.values)];
      plot.current = new uPlot(optionsFor(lines, element.clientWidth, least), data, element);
    };
    draw();
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    DARK.addEventListener("change", draw);
    return () => {
      watcher.disconnect();
      DARK.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);
  useEffect(() => plot.current?.setData([times, ...lines.map((line) => line.values)]), [times, lines]);
  return (
    <figure class="panel">
      <figcaption>{title}</figcaption>
      <div ref={holder} class="chart" role="img" aria-label={`${title} over the last hour; now ${lastOf(lines)}`} />
    </figure>
  );
}

function optionsFor(lines: Line[], width: number, least: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const grid = { stroke: colour("line"), width: 1 };
  const axis = { stroke: colour("faint"), grid, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { live: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, Math.max(least, most * 1.1)] } },
    axes: [
      { ...axis, space: 70, values: (_, splits) => splits.map(clock) },
      { ...axis, size: 46, values: (_, splits) => splits.map((value) => value.toLocaleString("en-US")) },
    ],
    series: [
      {},
      ...lines.map((line, at) => ({
        label: line.label,
        stroke: line.colour ? colour(line.colour) : COLOURS[at % COLOURS.length],
        width: 2,
        points: { show: false },
        spanGaps: false,
      })),
    ],
  };
}

function clock(seconds: number): string {
  const text = new Date(seconds * 1000).toTimeString().slice(0, 8);
  return text.endsWith(":00") ? text.slice(0, 5) : text;
}

function lastOf(lines: Line[]): string {
  return lines.map((line) => `${line.label} ${line.values[line.values.length - 1] ?? 0}`).join(", ");
}
