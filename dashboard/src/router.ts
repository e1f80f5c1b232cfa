// Where the page is: a path below the base, and filters in the query, so that every view can be linked to.

import { useEffect, useState } from "preact/hooks";

const BASE = new URL(".", document.baseURI).pathname.replace(/\/$/, "");

export interface Place {
  path: string;
  query: URLSearchParams;
}

function here(): Place {
  const path = window.location.pathname.slice(BASE.length) || "/";
  return { path, query: new URLSearchParams(window.location.search) };
}

export function go(to: string, replace = false): void {
  window.history[replace ? "replaceState" : "pushState"](null, "", BASE + to);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

export function href(to: string): string {
  return BASE + to;
}

// A part of a path as text; what is not encoded well stays as it is.
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const moved = () => setPlace(here());
    window.addEventListener("popstate", moved);
    return () => window.removeEventListener("popstate", moved);
  }, []);
  return place;
}

export function setFilter(query: URLSearchParams, path: string, name: string, value: string): void {
  const changed = new URLSearchParams(query);
  changed.delete("cursor");
  if (value) changed.set(name, value);
  else changed.delete(name);
  const text = changed.toString();
  go(path + (text ? `?${text}` : ""), true);
}
