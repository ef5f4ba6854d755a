const WIDTH = 120;
const HEIGHT = 28;

/**
 * The last minute of a rate, newest at the right. Decorative: the number beside it has the same
 * information.
 */
export function Sparkline({ values, places = 60 }: { values: number[]; places?: number }) {
  const top = Math.max(...values, 1) * 1.1;
  const x = (index: number) => WIDTH - ((values.length - 1 - index) * WIDTH) / (places - 1);
  const y = (value: number) => HEIGHT - 1 - (value / top) * (HEIGHT - 2);
  const line = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  if (line.length < 2) return <svg className="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" />;
  return (
    <svg className="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`${x(0).toFixed(1)},${HEIGHT} ${line.join(" ")} ${WIDTH},${HEIGHT}`} />
      <polyline points={line.join(" ")} />
    </svg>
  );
}
