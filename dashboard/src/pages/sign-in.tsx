import { useEffect, useState } from "preact/hooks";
import { send } from "../api";
import { Failure } from "../parts/feedback";

// The key goes to the server once, in exchange for a cookie that scripts cannot read. A link may carry it in its
// fragment, which browsers do not send; it is taken out of the address at once.
export function SignIn({ done }: { done: () => Promise<boolean> }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState<unknown>(null);
  const enter = async (text: string) => {
    try {
      await send("POST", "/dashboard/session", { key: text.trim() });
    } catch (problem) {
      return setError(problem);
    }
    if (!(await done())) setError(new Error("The browser did not keep the session: allow cookies for this site, then try again."));
  };
  useEffect(() => {
    const given = new URLSearchParams(window.location.hash.slice(1)).get("key");
    if (given) {
      window.history.replaceState(null, "", window.location.pathname + window.location.search);
      void enter(given);
    }
  }, []);
  return (
    <main class="sign-in">
      <h1>Fairlead</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter(key);
        }}
      >
        <label>
          API key
          <input
            type="password"
            autocomplete="off"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
        {error !== null && <Failure error={error} />}
      </form>
      <p class="faint">
        <code>fairlead keys create NAME --scope admin</code> makes a key.
      </p>
    </main>
  );
}
