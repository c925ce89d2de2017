// Tables of a run, as the module hands them over.

export interface Labels { labels: string[]; of: Uint32Array }
export type Column = Float64Array | Uint8Array | string[] | Labels;
export type Table = Record<string, Column>;
export type Tables = Record<string, Table>;

/** What a run left behind. */
export interface Outcome {
  seed: number;
  tables: Tables;
  meta: { sim_s: number; events: number; handovers?: { successful: number } };
  wall_s: number;
  captures: { name: string; bytes: Uint8Array }[];
}

export const numbers = (column: Column | undefined): Float64Array =>
  column instanceof Float64Array ? column : column instanceof Uint8Array ? Float64Array.from(column) : new Float64Array(0);

export function words(column: Column | undefined): string[] {
  if (column === undefined) return [];
  if (Array.isArray(column)) return column;
  if ("labels" in column) return Array.from(column.of, index => column.labels[index]);
  return Array.from(column, String);
}

export const rows = (table: Table | undefined): number => {
  const first = table && Object.values(table)[0];
  return first === undefined ? 0 : "of" in first && !Array.isArray(first) ? (first as Labels).of.length : (first as string[]).length;
};

/** Rows by the name in a column, in the order in which names first occur. */
export function groups(column: Column | undefined): Map<string, number[]> {
  const found = new Map<string, number[]>();
  words(column).forEach((name, i) => {
    const of = found.get(name);
    if (of) of.push(i); else found.set(name, [i]);
  });
  return found;
}

/** A table as comma-separated values, numbers with all of their digits. */
export function csv(table: Table, runs?: { seed: number; table: Table }[]): string {
  const parts = runs ?? [{ seed: NaN, table }];
  const names = Object.keys(table);
  const quoted = (v: string) => /[",\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v;
  const lines = [(runs ? ["seed", ...names] : names).join(",")];
  for (const { seed, table } of parts) {
    const columns = names.map(name => {
      const column = table[name];
      if (column instanceof Float64Array) return (i: number) => Number.isNaN(column[i]) ? "" : String(column[i]);
      if (column instanceof Uint8Array) return (i: number) => column[i] ? "true" : "false";
      const of = words(column);
      return (i: number) => quoted(of[i]);
    });
    for (let i = 0; i < rows(table); i++) {
      const cells = columns.map(cell => cell(i));
      lines.push((runs ? [String(seed), ...cells] : cells).join(","));
    }
  }
  return lines.join("\n") + "\n";
}
