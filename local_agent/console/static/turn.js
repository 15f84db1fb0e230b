// The chosen turn: its budget, its blocks and its five layers.
import { el, svg, word } from "./dom.js";

export function drawTurn(turn, { exact }) {
  const last = turn.requests.at(-1);
  return [
    turn.note ? el("p", { cls: "empty" }, turn.note) : null,
    turn.refusal ? refusal(turn.refusal) : null,
    ...turn.requests.map((request, index) => budget(request, turn.requests.length > 1 ? index + 1 : 0, exact)),
    ...layers(turn, last),
    backend(turn.backend),
  ].filter(Boolean);
}

function refusal({ code, sentence, numbers }) {
  const beside = Object.entries(numbers).map(([name, value]) => `${name} ${value}`).join("　");
  return el("div", { cls: "refusal" }, el("p", {}, sentence), el("p", {}, el("code", {}, code), `　${beside}`));
}

function budget(request, number, exact) {
  const open = request.exact
    ? el("button", { type: "button", data: { exact: request.exact }, on: { click: () => exact(request) } }, word("exact"))
    : el("p", { cls: "quiet" }, word("no-exact"));
  return el(
    "section", { cls: "budget", "aria-label": `${word("budget")}${number ? ` ${number}` : ""}` },
    el("p", { cls: "line" },
      el("span", {},
        number ? `${word("request")} ${number}　` : "",
        el("span", { cls: `decision ${request.decision}` }, request.decision_label), " ",
        el("code", { cls: "code" }, request.decision)),
      el("span", {}, `${request.measured} / ${request.limit}`)),
    el("p", { cls: "quiet" }, request.decision_explained),
    bar(request),
    request.segments.length ? el("ul", { cls: "parts" },
      ...request.segments.map((part) => el("li", { cls: part.layer }, `${part.label} ${part.size}`))) : null,
    el("h4", {}, word("blocks")),
    blocks(request.blocks),
    el("div", { cls: "tools" }, open),
  );
}

function bar({ share, segments, decision, measured, limit, decision_label: label }) {
  const said = `${label}：${measured} / ${limit}`;
  const parts = [svg("title", {}), svg("rect", { class: "track", x: 0.5, y: 0.5, width: 999, height: 25, rx: 6 })];
  parts[0].textContent = said;
  if (decision === "refused") {
    if (share !== null) parts.push(svg("rect", { class: "over", x: 2, y: 4, width: Math.min(996, share * 10), height: 18 }));
  } else if (segments.length) {
    let x = 2;
    for (const part of segments) {
      const width = part.share * 9.96;
      parts.push(svg("rect", { class: part.layer, x: x.toFixed(2), y: 4, width: width.toFixed(2), height: 18 }));
      x += width;
    }
  } else if (share !== null) {
    parts.push(svg("rect", { class: "whole", x: 2, y: 4, width: Math.min(996, share * 9.96), height: 18 }));
  }
  return svg("svg", { class: "meter", viewBox: "0 0 1000 26", preserveAspectRatio: "none", role: "img", "aria-label": said }, ...parts);
}

function blocks(rows) {
  if (!rows.length) return el("p", { cls: "quiet" }, word("no-blocks"));
  const heads = word("block-heads").split("|");
  return table(heads, rows.map((block) => [
    [block.label, el("code", { cls: "code" }, block.id)],
    [el("span", { cls: `action ${block.action}` }, block.action_label)],
    [block.reason_label, el("code", { cls: "code" }, block.reason)],
  ]));
}

function layers(turn, last) {
  const known = last?.layers ?? { rules: null, newest: [], window: [], ledger: [] };
  const rules = known.rules
    ? el("details", { cls: "layer rules", data: { layer: "rules" } },
        el("summary", {}, `1　${word("layer-rules")}`),
        el("p", { cls: "why" }, word("layer-rules-why")),
        el("h4", {}, word("instruction")), el("pre", { tabindex: "0" }, known.rules.instruction),
        el("h4", {}, word("tools")), el("pre", { tabindex: "0" }, known.rules.tools))
    : layer(1, "rules", [nothing("rules")]);
  const newest = known.newest.length
    ? known.newest.map((piece) => el("div", { cls: "piece" }, el("span", { cls: "role" }, piece.role), el("pre", {}, piece.text)))
    : [turn.said ? el("pre", {}, `${turn.kind}：${turn.said}`) : nothing("newest")];
  return [rules, layer(2, "newest", newest), layer(3, "window", lines(known.window, "window")), layer(4, "ledger", lines(known.ledger, "ledger"))];
}

function layer(number, name, inside) {
  return el(
    "section", { cls: `layer ${name}`, data: { layer: name }, "aria-label": word(`layer-${name}`) },
    el("h3", {}, `${number}　${word(`layer-${name}`)}`),
    el("p", { cls: "why" }, word(`layer-${name}-why`)),
    ...inside,
  );
}

const nothing = (name) => el("p", { cls: "empty" }, word(`nothing-${name}`));

const lines = (found, name) => (found.length ? [el("pre", {}, found.join("\n"))] : [nothing(name)]);

function backend({ facts, calls, forgotten, private: result }) {
  const inside = [
    el("dl", { cls: "facts" }, ...facts.flatMap((fact) => [el("dt", {}, fact.label), el("dd", { data: { fact: fact.name } }, fact.value)])),
    ...calls.map(call),
  ];
  if (forgotten) inside.push(el("p", { cls: "warning" }, word("forgotten")));
  if (result) inside.push(el("details", {}, el("summary", {}, word("private")), el("pre", { tabindex: "0" }, result)));
  return layer(5, "backend", inside);
}

function call({ tool, rows, origin, origin_label: label }) {
  const heads = word("call-heads").split("|");
  return el(
    "div", { data: { call: tool, origin } },
    el("h4", {}, el("code", {}, tool), `　${label} `, el("code", { cls: "code" }, origin)),
    table(heads, rows.map((row) => [[el("code", {}, row.name)], [row.proposed], [row.effective], [row.origin]]),
      (row) => (rows[row].filled ? "filled" : null)),
  );
}

function table(heads, rows, marked = () => null) {
  return el("div", { cls: "wide" }, el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows.map((cells, index) => el("tr", {},
      ...cells.map((cell, column) => el("td", { cls: column ? marked(index) : null }, ...cell)))))));
}
