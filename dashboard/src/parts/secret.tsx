// A key or a secret that was just made: it is on the page until somebody closes it or leaves, and nowhere else.

import { useState } from "preact/hooks";

export function Secret({ text, words, close }: { text: string; words: string; close: () => void }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <section class="panel why secret" aria-label="Shown once">
      <p role="status">
        {words} <strong>Copy it now: it is not shown again.</strong>
      </p>
      <code>{text}</code>
      <div class="actions">
        {"clipboard" in navigator && (
          <button type="button" onClick={() => void copy()}>
            {copied ? "Copied" : "Copy"}
          </button>
        )}
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </section>
  );
}
