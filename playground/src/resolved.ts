// The parts of a resolved scenario that the page reads.

export interface Resolved {
  network: string;
  run: { duration: string; warmup: string; seed: number; series_bin: string };
  output: { pcap: string[]; ran_log: boolean };
  cell: { name: string; position: [string, string]; resource_blocks: number; interferer: boolean; [key: string]: unknown }[];
  channel: Record<string, unknown> | null;
  ue: {
    name: string; count: number; position: [string, string] | null; placement: { kind: string; centre?: [string, string] | null; radius?: string } | null;
    mobility: { kind: string; towards?: [string, string] | null; heading?: string | null; speed?: string };
  }[];
  flow: { name: string | null; to: string | null; direction: string; app: { kind: string; controller?: { kind: string } }; transport: { kind: string; congestion?: string; controller?: string | null } }[];
  middlebox: { kind: string; at: string }[];
}

/** Whether a flow has a controller of one's own. */
export const usesOwn = ({ transport, app }: Resolved["flow"][number]) => Boolean(transport.controller) || app.controller?.kind === "own";

/** The number of a quantity as resolved scenarios write it: lengths in m, times in s and below. */
export function metres(length: string): number { return parseFloat(length) * (/k\s*m$/.test(length) ? 1000 : 1); }

const SECONDS: Record<string, number> = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
export function seconds(time: string): number {
  const found = /^([\d.e+-]+)\s*(\S+)$/i.exec(time.trim());
  return found ? Number(found[1]) * SECONDS[found[2]] : NaN;
}

/** What stands at a path. */
export const get = (from: unknown, path: (string | number)[]): unknown =>
  path.reduce<unknown>((value, part) => value == null ? undefined : (value as Record<string | number, unknown>)[part], from);

/** Settings in which two resolved scenarios differ: `key: value | value`, as `differences` of airlane/study/compare.py. */
export function differences(one: unknown, other: unknown, key = ""): string[] {
  const table = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
  if (table(one) && table(other)) {
    const names = [...Object.keys(one), ...Object.keys(other).filter(name => !(name in one))];
    return names.flatMap(name => key === "run" && name === "seed" ? []
      : differences(name in one ? one[name] : ABSENT, name in other ? other[name] : ABSENT, key ? `${key}.${name}` : name));
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    if (one.length !== other.length) return [`${key}: ${one.length} entries | ${other.length} entries`];
    return one.flatMap((value, i) => differences(value, other[i], `${key}.${i}`));
  }
  return one === other ? [] : [`${key}: ${shown(one)} | ${shown(other)}`];
}
const ABSENT = Symbol("absent");
function shown(value: unknown): string {
  if (value === ABSENT) return "absent";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
