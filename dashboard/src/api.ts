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

export type Query = Record<string, string | number | string[] | null | undefined>;

export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return request<T>("GET", path + searchOf(query));
}

export async function send<T>(method: "POST" | "PATCH" | "DELETE" | "PUT", path: string, body?: unknown): Promise<T> {
  return request<T>(method, path, body);
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { "X-Fairlead-Dashboard": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
  });
  if (answer.status === 401) window.dispatchEvent(new Event("signed-out"));
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
