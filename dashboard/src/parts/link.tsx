// A link within the dashboard: an ordinary anchor that does not load the page again.

import type { ComponentChildren, JSX } from "preact";
import { go, href } from "../router";

interface Props {
  to: string;
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}

export function Link({ to, children, class: style, current }: Props) {
  const follow = (event: JSX.TargetedMouseEvent<HTMLAnchorElement>) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={href(to)} onClick={follow} class={style} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
