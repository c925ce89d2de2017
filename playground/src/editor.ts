// The editors: TOML with completion from the JSON Schema and the reader's own errors at their line, and JavaScript.
import { autocompletion, closeBrackets, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, StreamLanguage, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { at, choices, describe, keys, type Schema } from "./schema.js";
import { pathAt } from "./toml.js";

const look = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--match)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--undecided-ink)" },
  { tag: [tags.keyword, tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.invalid, color: "var(--miss-ink)" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "6px" },
  ".cm-content, .cm-gutters": { fontFamily: "ui-monospace, 'DejaVu Sans Mono', monospace" },
  ".cm-gutters": { backgroundColor: "var(--wash)", color: "var(--soft)", border: "0", borderRadius: "6px 0 0 6px" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent) !important" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--edge)", maxWidth: "min(60ch, 90vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--wash)", color: "var(--ink)", outline: "1px solid var(--accent)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", borderLeftColor: "var(--miss-ink)" },
  ".cm-scroller": { overflow: "auto", maxHeight: "var(--editor-height, 420px)" },
});

/** An editor and what the page does with it. */
export interface Editor {
  text(): string;
  /** Puts another text there, as one change that can be undone. */
  replace(text: string): void;
  /** Marks mistakes; a line counts from 1. */
  mark(mistakes: { line: number; message: string }[]): void;
  /** The first line that is no JavaScript. */
  firstBadLine(): number | null;
  show(line: number): void;
}

function editor(parent: HTMLElement, label: string, text: string, changed: (text: string) => void, language: Extension): Editor {
  let quiet = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(), lintGutter(),
        syntaxHighlighting(look), theme, EditorView.lineWrapping, language,
        keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of(update => { if (update.docChanged && !quiet) changed(update.state.doc.toString()); }),
      ],
    }),
  });
  const lineAt = (line: number) => view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
  return {
    text: () => view.state.doc.toString(),
    replace(next) {
      const now = view.state.doc.toString();
      if (now === next) return;
      // Only what differs is changed, so that the cursor stays where it is.
      let from = 0, end = 0;
      while (from < now.length && from < next.length && now[from] === next[from]) from++;
      while (end < now.length - from && end < next.length - from && now[now.length - 1 - end] === next[next.length - 1 - end]) end++;
      quiet = true;
      view.dispatch({ changes: { from, to: now.length - end, insert: next.slice(from, next.length - end) } });
      quiet = false;
    },
    mark(mistakes) {
      const found = mistakes.map(({ line, message }): Diagnostic => {
        const { from, to, text } = lineAt(line);
        return { from: from + text.length - text.trimStart().length, to, severity: "error", message };
      });
      view.dispatch(setDiagnostics(view.state, found));
    },
    firstBadLine() {
      let bad: number | null = null;
      syntaxTree(view.state).iterate({
        enter: node => { if (node.type.isError && bad === null) bad = view.state.doc.lineAt(node.from).number; },
      });
      return bad;
    },
    show(line) {
      view.dispatch({ selection: { anchor: lineAt(line).from }, scrollIntoView: true });
      view.focus();
    },
  };
}

/** What can be written at the cursor: keys of the section, or values of the key. */
function completion(schema: Schema) {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos), before = line.text.slice(0, context.pos - line.from);
    if (/^\s*#/.test(before)) return null;
    const header = /^\s*\[\[?([\w-]*)$/.exec(before);
    if (header) return options(context.pos - header[1].length, keys(schema, []));
    // The path where the line is, read with the line left out, because it is not finished.
    const text = context.state.doc.toString();
    const section = pathAt(text.slice(0, line.from), Math.max(0, line.from - 1)).filter(part => typeof part === "string" || typeof part === "number");
    const table = sectionOf(text.slice(0, line.from), section);
    const value = /^\s*([\w.-]+)\s*=\s*("?)([^"]*)$/.exec(before);
    if (value && !value[3].includes("{")) {
      const found = choices(schema, [...table, ...value[1].split(".")]);
      return found.length ? options(context.pos - value[3].length - value[2].length, found, true) : null;
    }
    const inner = /^\s*([\w.-]+)\s*=\s*\{(?:.*,)?\s*([\w-]*)$/.exec(before);
    if (inner) return options(context.pos - inner[2].length, keys(schema, [...table, ...inner[1].split(".")]));
    const innerValue = /^\s*([\w.-]+)\s*=\s*\{.*?([\w-]+)\s*=\s*("?)([\w-]*)$/.exec(before);
    if (innerValue) {
      const found = choices(schema, [...table, ...innerValue[1].split("."), innerValue[2]]);
      return found.length ? options(context.pos - innerValue[4].length - innerValue[3].length, found, true) : null;
    }
    const key = /^\s*([\w.-]*)$/.exec(before);
    if (!key || (!key[1] && !context.explicit)) return null;
    const parts = key[1].split("."), last = parts.pop() ?? "";
    return options(context.pos - last.length, keys(schema, [...table, ...parts]));
  };
}

/** The last header above a line decides, whatever stands below it. */
function sectionOf(text: string, fallback: (string | number)[]): (string | number)[] {
  const headers = [...text.matchAll(/^\s*\[\[?\s*([\w.-]+)\s*\]\]?/gm)];
  const last = headers.at(-1);
  if (!last) return [];
  const name = last[1].split(".");
  return fallback.length && fallback[0] === name[0] ? name : name;
}

function options(from: number, found: { word: string; info: string }[], quoted = false): CompletionResult {
  return {
    from, validFor: /^"?[\w.-]*$/,
    options: found.map(({ word, info }) => ({ label: quoted && !/^(true|false|\d+)$/.test(word) ? JSON.stringify(word) : word, info: info || undefined })),
  };
}

export const scenarioEditor = (parent: HTMLElement, schema: Schema, text: string, changed: (text: string) => void) =>
  editor(parent, "scenario as TOML", text, changed, [StreamLanguage.define(toml), autocompletion({ override: [completion(schema)] })]);

export const controllerEditor = (parent: HTMLElement, text: string, changed: (text: string) => void) =>
  editor(parent, "controller as JavaScript", text, changed, [javascript()]);

export { at, describe };
