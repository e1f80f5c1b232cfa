// A filter that takes effect by itself, once the fingers rest.

import { useEffect, useRef, useState } from "preact/hooks";

const REST = 200; // milliseconds

interface Props {
  name: string;
  words: string;
  value: string;
  change: (name: string, value: string) => void;
}

export function Filter({ name, words, value, change }: Props) {
  const [text, setText] = useState(value);
  const timer = useRef<number>();
  useEffect(() => setText(value), [value]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const typed = (now: string) => {
    setText(now);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => change(name, now.trim()), REST);
  };
  return (
    <label>
      {words}
      <input value={text} list={`known-${name}`} maxLength={200} onInput={(event) => typed(event.currentTarget.value)} />
    </label>
  );
}
