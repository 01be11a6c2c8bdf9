/** `1 turn`, `2 turns`; `many` where a verb changes with it, or an s is not enough. A text is a number as it is shown. */
export function counted(count: number | string, one: string, many = `${one}s`): string {
  return `${count} ${String(count) === '1' ? one : many}`;
}
