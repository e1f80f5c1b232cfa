// What a page says while it loads, when it fails, when there is nothing, and before something is destroyed.

import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

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
      {withCode(text)}
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{typeof children === "string" ? withCode(children) : children}</p>;
}

// What stands between backticks is a command to type.
export function withCode(text: string): ComponentChildren {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

export type Values = Record<string, string>;

export interface Field {
  name: string;
  label: string;
  value?: string | number | null;
  kind?: "text" | "number" | "area" | "choice" | "several"; // the value of several has commas between its words
  choices?: readonly (readonly [string, string])[];
  hint?: string;
  required?: boolean;
  known?: readonly string[]; // suggestions
  min?: number;
  max?: number;
}

interface Question {
  title: string;
  what: ComponentChildren;
  label: string;
  danger?: boolean;
  needsReason?: boolean;
  fields?: Field[];
  previews?: Record<string, (values: Values) => ComponentChildren>; // what is shown below fields, by their names
  run: (reason: string, values: Values) => Promise<unknown>;
  told?: (result: never) => string;
  done?: () => void;
}

// A button that first says what it will do and to how many, asks why, and shows what came of it.
export function ActionButton({ question, disabled, quiet }: { question: Question; disabled?: boolean; quiet?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={quiet ? "quiet" : question.danger ? "danger" : ""} disabled={disabled} onClick={() => setOpen(true)}>
        {question.label}
      </button>
      {open && <Dialog question={question} close={() => setOpen(false)} />}
    </>
  );
}

const MANY = 5; // fields, from which on a dialog has two columns

function Dialog({ question, close }: { question: Question; close: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [values, setValues] = useState<Values>(() => firstValues(question.fields ?? []));
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => element.current?.showModal(), []);
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const result = await question.run(reason, values);
      if (question.told) tell(question.told(result as never));
      question.done?.();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <dialog ref={element} onClose={close} aria-labelledby="dialog-title" class={(question.fields?.length ?? 0) > MANY ? "wide" : ""}>
      <form onSubmit={run}>
        <h2 id="dialog-title">{question.title}</h2>
        <div class="what">{typeof question.what === "string" ? withCode(question.what) : question.what}</div>
        <div class="fields">
          {question.fields?.map((field) => (
            <Fragment key={field.name}>
              <FieldInput field={field} value={values[field.name] ?? ""} change={(value) => setValues((before) => ({ ...before, [field.name]: value }))} />
              {question.previews?.[field.name]?.(values)}
            </Fragment>
          ))}
        </div>
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

function firstValues(fields: Field[]): Values {
  return Object.fromEntries(fields.map((field) => [field.name, String(field.value ?? "")]));
}

// Any number of choices, each a box to tick.
function Boxes({ field, value, change }: { field: Field; value: string; change: (value: string) => void }) {
  const on = severalOf(value);
  const turn = (word: string) => change((on.includes(word) ? on.filter((one) => one !== word) : [...on, word]).join(","));
  return (
    <fieldset class="field whole">
      <legend>{field.label}</legend>
      {field.choices?.map(([word, words]) => (
        <label key={word} class="inline">
          <input type="checkbox" checked={on.includes(word)} onChange={() => turn(word)} />
          {words}
        </label>
      ))}
    </fieldset>
  );
}

function FieldInput({ field, value, change }: { field: Field; value: string; change: (value: string) => void }) {
  const hint = useId();
  if (field.kind === "several") return <Boxes field={field} value={value} change={change} />;
  const described = field.hint ? hint : undefined;
  return (
    <div class={field.kind === "area" ? "field whole" : "field"}>
      <label>
        {field.label}
        {field.kind === "choice" ? (
          <select value={value} aria-describedby={described} onChange={(event) => change(event.currentTarget.value)}>
            {field.choices?.map(([word, words]) => (
              <option key={word} value={word}>
                {words}
              </option>
            ))}
          </select>
        ) : field.kind === "area" ? (
          <textarea rows={6} class="mono" spellcheck={false} value={value} aria-describedby={described} onInput={(event) => change(event.currentTarget.value)} />
        ) : (
          <input
            type={field.kind === "number" ? "number" : "text"}
            step="any"
            min={field.min}
            max={field.max}
            required={field.required}
            value={value}
            list={field.known ? `${hint}-known` : undefined}
            aria-describedby={described}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </label>
      {field.known && (
        <datalist id={`${hint}-known`}>
          {field.known.map((word) => (
            <option key={word} value={word} />
          ))}
        </datalist>
      )}
      {field.hint && (
        <p class="hint" id={hint}>
          {field.hint}
        </p>
      )}
    </div>
  );
}

// What a field of a form says: nothing is null, and a number is one.
export function numberOf(text: string | undefined): number | null {
  return text === undefined || text.trim() === "" ? null : Number(text);
}

export function severalOf(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(Boolean);
}

export function textOf(text: string | undefined): string | null {
  return text?.trim() || null;
}

function tell(text: string): void {
  window.dispatchEvent(new CustomEvent("told", { detail: text }));
}

const SHOWN_FOR = 8_000; // milliseconds

// What came of the last action, for a while.
export function Notice() {
  const [text, setText] = useState("");
  useEffect(() => {
    let timer = 0;
    const told = (event: Event) => {
      setText((event as CustomEvent<string>).detail);
      window.clearTimeout(timer);
      timer = window.setTimeout(() => setText(""), SHOWN_FOR);
    };
    window.addEventListener("told", told);
    return () => {
      window.removeEventListener("told", told);
      window.clearTimeout(timer);
    };
  }, []);
  return (
    <p class={text ? "notice" : "notice empty-notice"} role="status">
      {text}
    </p>
  );
}
