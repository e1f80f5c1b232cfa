// The frame: who is signed in, where one can go, and the page for the present place.

import { QueryClientProvider } from "@tanstack/preact-query";
import { useEffect, useRef, useState } from "preact/hooks";
import { beginSession, get, Refused, send } from "./api";
import { Failure, Loading, Notice } from "./parts/feedback";
import { Link } from "./parts/link";
import { cache } from "./parts/query";
import { Audit } from "./pages/audit";
import { CallbackPage } from "./pages/callback";
import { Callbacks } from "./pages/callbacks";
import { DeadLetters } from "./pages/dead-letters";
import { Guards } from "./pages/guards";
import { JobPage } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Overview } from "./pages/overview";
import { Schedules } from "./pages/schedules";
import { SignIn } from "./pages/sign-in";
import { Settings } from "./pages/settings";
import { TenantPage } from "./pages/tenant";
import { Tenants } from "./pages/tenants";
import { Types } from "./pages/types";
import { Workers } from "./pages/workers";
import { decoded, usePlace, type Place } from "./router";
import type { MeDocument as Session } from "./types";

interface Page {
  path: string;
  name: string;
  everywhere?: boolean; // only for keys that are not bound to a tenant
  scope?: string;
}

const PAGES: Page[] = [
  { path: "/", name: "Overview", everywhere: true },
  { path: "/jobs", name: "Jobs" },
  { path: "/dead-letters", name: "Dead letters" },
  { path: "/tenants", name: "Tenants" },
  { path: "/schedules", name: "Schedules" },
  { path: "/callbacks", name: "Callbacks" },
  { path: "/workers", name: "Workers", everywhere: true },
  { path: "/guards", name: "Breakers and limits", everywhere: true },
  { path: "/types", name: "Types" },
  { path: "/settings", name: "Settings", everywhere: true },
  { path: "/audit", name: "Audit", everywhere: true, scope: "admin" },
];

export function App() {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const look = () =>
    get<Session>("/dashboard/session").then(
      (found) => {
        beginSession();
        cache.clear();
        setSession(found);
        return true;
      },
      (problem) => {
        const isRefused = problem instanceof Refused && problem.status === 401; // which "signed-out" has told
        if (!isRefused) setError(problem);
        return false;
      },
    );
  useEffect(() => {
    void look();
    const out = () => setSession(null);
    window.addEventListener("signed-out", out);
    return () => window.removeEventListener("signed-out", out);
  }, []);
  if (error !== null) return <Failure error={error} />;
  if (session === undefined) return <Loading />;
  if (session === null) return <SignIn done={look} />;
  return (
    <QueryClientProvider client={cache}>
      <Frame session={session} signOut={() => send("DELETE", "/dashboard/session").finally(() => setSession(null))} />
    </QueryClientProvider>
  );
}

function Frame({ session, signOut }: { session: Session; signOut: () => void }) {
  const place = usePlace();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [place.path]);
  const pages = PAGES.filter(
    (page) => (!page.everywhere || session.tenant === null) && (!page.scope || (session.scopes as string[]).includes(page.scope)),
  );
  return (
    <>
      <a class="skip" href={`${window.location.pathname}${window.location.search}#content`}>
        To the content
      </a>
      <header>
        <Link to="/" class="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <circle cx="16" cy="16" r="13" />
            <path d="M3 16h26" />
          </svg>
          Fairlead
        </Link>
        <nav aria-label="Pages" ref={nav}>
          {pages.map((page) => (
            <Link key={page.path} to={page.path} current={isIn(place.path, page.path)}>
              {page.name}
            </Link>
          ))}
        </nav>
        <span class="who" title={session.scopes.join(", ")}>
          {session.name}
          {session.tenant !== null && ` · ${session.tenant}`}
        </span>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main id="content" tabIndex={-1}>
        <Content place={place} session={session} />
      </main>
      <Notice />
    </>
  );
}

function Content({ place, session }: { place: Place; session: Session }) {
  const may = (scope: string) => (session.scopes as string[]).includes(scope) || session.scopes.includes("admin");
  const operates = may("operate");
  const [, first, second] = place.path.split("/");
  if (first === "jobs" && second) return <JobPage key={second} id={decoded(second)} operates={operates} />;
  if (first === "jobs" || (first === "" && session.tenant !== null)) return <Jobs place={place} operates={operates} />;
  if (first === "dead-letters") return <DeadLetters place={place} operates={operates} />;
  if (first === "workers") return <Workers operates={operates} />;
  const commands = operates && session.tenant === null;
  if (first === "tenants" && second) return <TenantPage key={second} name={decoded(second)} operates={commands} oversees={session.tenant === null} />;
  if (first === "tenants") return <Tenants operates={commands} />;
  if (first === "settings") return <Settings operates={operates} keys={may("admin")} />;
  if (first === "schedules") return <Schedules operates={operates} tenant={session.tenant} />;
  if (first === "callbacks" && second) return <CallbackPage key={`${second}${place.query.get("tenant")}`} name={decoded(second)} place={place} operates={operates} />;
  if (first === "callbacks") return <Callbacks place={place} operates={operates} tenant={session.tenant} />;
  if (first === "guards") return <Guards operates={operates} />;
  if (first === "types") return <Types />;
  if (first === "audit") return <Audit place={place} />;
  return <Overview />;
}

function isIn(path: string, page: string): boolean {
  return page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`);
}
