// What a page says while it loads, when it fails, when there is nothing, and before something is destroyed.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Loading() {
  return (
    <p class="faint" role="status">
      Loading…
    </p>
  );
}

export function Failure({ error }: { error: unknown }) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <p class="failure" role="alert">
      {text}
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

interface Question {
  title: string;
  what: string;
  label: string;
  danger?: boolean;
  needsReason?: boolean;
  run: (reason: string) => Promise<unknown>;
  done?: () => void;
}

// A button that first says what it will do and to how many, asks why, and shows what came of it.
export function ActionButton({ question, disabled }: { question: Question; disabled?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={question.danger ? "danger" : ""} disabled={disabled} onClick={() => setOpen(true)}>
        {question.label}
      </button>
      {open && <Dialog question={question} close={() => setOpen(false)} />}
    </>
  );
}

function Dialog({ question, close }: { question: Question; close: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => element.current?.showModal(), []);
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await question.run(reason);
      question.done?.();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <dialog ref={element} onClose={close} aria-labelledby="dialog-title">
      <form onSubmit={run}>
        <h2 id="dialog-title">{question.title}</h2>
        <p>{question.what}</p>
        <label>
          Why, for the audit
          <input
            value={reason}
            maxLength={2000}
            required={question.needsReason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        {error !== null && <Failure error={error} />}
        <div class="actions">
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" class={question.danger ? "danger" : "primary"} disabled={busy}>
            {busy ? "Working…" : question.label}
          </button>
        </div>
      </form>
    </dialog>
  );
}
