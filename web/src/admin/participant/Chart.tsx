import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { clock } from "../words";
import type { Mark, Series } from "./series";

/** One line of a chart. Its color is a custom property of the page's style. */
export interface Line {
  words: string;
  color: string;
}

interface Properties {
  title: string;
  unit: string;
  lines: Line[];
  data: Series;
  marks: Mark[];
}

const HEIGHT = 180;

/** The pointer's place is the same in all charts. */
const SYNC = "timeline";

const DARK = "(prefers-color-scheme: dark)";

/** A chart over time. */
export function Chart({ title, unit, lines, data, marks }: Properties) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const newest = useRef({ data, marks });
  newest.current = { data, marks };

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const draw = () => {
      plot.current?.destroy();
      const drawMarks = (drawn: uPlot) => strike(drawn, newest.current.marks, element);
      plot.current = new uPlot(options(element, unit, lines, drawMarks), newest.current.data, element);
    };
    draw();
    const scheme = window.matchMedia(DARK);
    scheme.addEventListener("change", draw);
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    return () => {
      scheme.removeEventListener("change", draw);
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [unit, lines]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  return (
    <figure className="admin-chart">
      <figcaption>
        {title}, {unit}
      </figcaption>
      <div ref={box} role="img" aria-label={described(title, unit, lines, data)} />
    </figure>
  );
}

function options(element: HTMLElement, unit: string, lines: Line[], drawMarks: (plot: uPlot) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--text-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  const number = (value: number | null) => (value === null ? "" : `${value.toFixed(2)} ${unit}`);
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: SYNC }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.1] } },
    axes: [
      { ...axis, space: 90, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000)) },
      { ...axis, size: 44 },
    ],
    series: [
      { value: (_, time) => (time === null ? "" : clock(time * 1000)) },
      ...lines.map((line) => ({
        label: line.words,
        stroke: color(line.color),
        width: 2,
        spanGaps: true,
        points: { show: false },
        value: (_: uPlot, value: number | null) => number(value),
      })),
    ],
    hooks: { draw: [drawMarks] },
  };
}

/** Draws a line from top to bottom at each mark: solid for a pause, dashed for a switch. */
function strike(plot: uPlot, marks: Mark[], element: HTMLElement): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = getComputedStyle(element).getPropertyValue("--mark").trim();
  for (const { at, kind } of marks) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash(kind === "switch" ? [4, 4] : []);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** The newest values in words, for those who do not see the chart. */
function described(title: string, unit: string, lines: Line[], [, ...values]: Series): string {
  const parts = lines.map(({ words }, index) => {
    const newest = values[index]?.findLast((value) => value !== null);
    return `${words} ${newest === undefined || newest === null ? "unknown" : `${newest.toFixed(2)} ${unit}`}`;
  });
  return `${title}; now ${parts.join(", ")}`;
}
