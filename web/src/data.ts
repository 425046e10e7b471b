// The report inside the page: out of its script element, exact to the last digit.

import type { Cell, Report } from "./report";

/** What a cell may be once read: whole numbers that a double cannot hold stay exact. */
export type Exact = Cell | bigint;

/** A value of a row; undefined where the report gives none. */
export type Field = Exact | undefined;

/** A report as read. Only `exact` fields are bigint at run time; the types say number. */
export function parse(text: string): Report {
  let large = false;
  // Strings are matched too, so that digits inside them are left alone.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) => {
    if (token.length < 16 || !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    large = true;
    return `{"$whole":"${token}"}`;
  });
  if (!large) return JSON.parse(text) as Report;
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "object" && value !== null && "$whole" in value ? BigInt(String(value.$whole)) : value,
  ) as Report;
}

/**
 * The bytes of report.json. The page carries the same text with a few characters escaped, so that nothing in it can
 * end the element; the pairs of backslashes before an escape keep `\\u003c` (a backslash in the data) as it is.
 */
export function restore(embedded: string): string {
  return embedded.replace(/\\\\|\\u(003c|003e|0026|2028|2029)/g, (token, code?: string) =>
    code === undefined ? token : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** A cell as a number, or null. */
export function numberOf(cell: Exact): number | null {
  if (typeof cell === "bigint") return Number(cell);
  return typeof cell === "number" ? cell : null;
}

/** Any setting or scenario value as text: strings as they are, the rest as JSON. */
export function settingText(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? each.toString() : each)) ?? "";
}
