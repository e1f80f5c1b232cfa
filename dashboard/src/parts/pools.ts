// The pools in the order of how long their jobs run; those of the user's own come after them, by name.

const BY_LENGTH = ["short", "medium", "long"];

export function inOrder(names: Iterable<string>): string[] {
  const found = [...new Set(names)].sort();
  return [...BY_LENGTH.filter((name) => found.includes(name)), ...found.filter((name) => !BY_LENGTH.includes(name))];
}
