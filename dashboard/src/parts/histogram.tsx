// How long runs took: bars from short to long, each a half of a doubling wide.

import { count, duration } from "./text";
import type { SpreadDocument as Spread } from "../types";

export interface Bar {
  begin: number;
  end: number;
  runs: number;
}

const FEW = 8; // that many fill the width; fewer keep their width

export function Histogram({ runs, bars }: { runs: Spread; bars: Bar[] }) {
  const most = Math.max(...bars.map((bar) => bar.runs), 1);
  const end = duration(bars[bars.length - 1]?.end ?? 0);
  const words = `half up to ${duration(runs.p50)}, 95 % up to ${duration(runs.p95)}, 99 % up to ${duration(runs.p99)}`;
  return (
    <figure>
      <figcaption>{count(runs.count)} runs in a day</figcaption>
      <svg
        class="histogram"
        viewBox={`0 0 ${Math.max(bars.length, FEW) * 10} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`How long runs took: ${words}`}
      >
        {bars.map((bar, at) => {
          const height = bar.runs === 0 ? 0 : Math.max((bar.runs / most) * 40, 1.5);
          return (
            <rect key={bar.begin} x={at * 10 + 0.5} y={40 - height} width={9} height={height}>
              <title>{`${duration(bar.begin)} to ${duration(bar.end)}: ${count(bar.runs)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="ends" aria-hidden="true">
        <span>{duration(bars[0]?.begin ?? 0) + (bars.length < FEW ? ` to ${end}` : "")}</span>
        {bars.length >= FEW && <span>{end}</span>}
      </div>
      <p class="faint">{words}</p>
    </figure>
  );
}
