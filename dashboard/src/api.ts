// Requests to the API of the same origin. The browser is known by a cookie that scripts cannot read; what changes
// something carries a header that a form of another site cannot send.

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

let session = 0;

// From now on, answers to what was asked before say nothing about who is signed in.
export function beginSession(): void {
  session += 1;
}

export type Query = Record<string, string | number | string[] | null | undefined>;

export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return request<T>("GET", path + searchOf(query));
}

// With the version that was seen, a change is refused where somebody else was faster; version 0 was not set yet.
export async function send<T>(method: "POST" | "PATCH" | "DELETE" | "PUT", path: string, body?: unknown, seen?: number): Promise<T> {
  const condition: Record<string, string> = seen === undefined ? {} : seen === 0 ? { "If-None-Match": "*" } : { "If-Match": `"${seen}"` };
  return request<T>(method, path, body, condition);
}

// A name as one part of a path.
export function named(path: string, name: string): string {
  return `${path}/${encodeURIComponent(name)}`;
}

// Where the application is mounted; the page lies below it at /dashboard/, and the server says so in the base element.
const ROOT = new URL("..", document.baseURI).pathname.replace(/\/$/, "");

// A path of the application as the browser asks for it.
export function at(path: string): string {
  return ROOT + path;
}

// Server-sent events in the answer to a POST, which a browser's own reader of events cannot make.
export async function stream(path: string, body: unknown, stop: AbortSignal, told: (name: string, document: unknown) => void): Promise<void> {
  const headers = { "X-Fairlead-Dashboard": "1", "Content-Type": "application/json" };
  const answer = await fetch(at(path), { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin", signal: stop });
  if (!answer.ok || !answer.body) throw await refusal(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (text + part.value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(event) ?? [];
      if (name && data) told(name, JSON.parse(data));
    }
  }
}

async function request<T>(method: string, path: string, body?: unknown, condition: Record<string, string> = {}): Promise<T> {
  const headers: Record<string, string> = { "X-Fairlead-Dashboard": "1", ...condition };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const asked = session;
  const answer = await fetch(at(path), {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  if (answer.status === 401 && asked === session) window.dispatchEvent(new Event("signed-out"));
  if (!answer.ok) throw await refusal(answer);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

async function refusal(answer: Response): Promise<Refused> {
  try {
    const problem = (await answer.json()) as { code?: string; detail?: string };
    return new Refused(answer.status, problem.code ?? "ERROR", problem.detail ?? answer.statusText);
  } catch {
    return new Refused(answer.status, "ERROR", answer.statusText || `the server answered ${answer.status}`);
  }
}

export function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((item) => search.append(name, item));
    else if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}
