// A row of small bars: how many in each of the last hours, oldest first.

import { count } from "./text";

export function Spark({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(...values, 1);
  return (
    <svg class="spark" viewBox={`0 0 ${values.length * 4} 20`} preserveAspectRatio="none" role="img" aria-label={described(values, label)}>
      {values.map((value, at) => {
        const height = value === 0 ? 0.6 : Math.max((value / most) * 20, 1.5);
        return <rect key={at} class={value === 0 ? "none" : ""} x={at * 4} y={20 - height} width={3.2} height={height} />;
      })}
    </svg>
  );
}

function described(values: number[], label: string): string {
  return `${label}: ${count(values[values.length - 1] ?? 0)} in the last hour, ${count(values.reduce((a, b) => a + b, 0))} in all`;
}
