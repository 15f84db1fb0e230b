// Asks the console what is new, draws it, and sends what the person does.
import { el, word } from "./dom.js";
import { Phone } from "./phone.js";
import { drawTurn } from "./turn.js";

const find = (id) => document.getElementById(id);
const token = document.querySelector("meta[name=console-token]").content;
const [turns, turn, notice, message] = ["turns", "turn", "notice", "message"].map(find);
let chosen = null; // null follows the newest turn
let known = 0;
let state = null;

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", "x-console-token": token },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`api/${path}`, options);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

async function act(path, body) {
  try {
    notice.textContent = (await ask(path, body)).notice ?? "";
  } catch {
    notice.textContent = word("failed");
  }
}

const say = (text) => {
  chosen = null;
  return act("say", { text });
};
const press = (data, shown) => {
  chosen = null;
  return act("press", { data, shown });
};

const phone = new Phone({ log: find("log"), quick: find("quick"), say, press });

function drawTurns() {
  const current = chosen ?? state.turns.at(-1)?.number;
  const held = turns.contains(document.activeElement);
  turns.replaceChildren(...state.turns.map((one) => el(
    "button",
    {
      type: "button", role: "radio", cls: one.state, data: { turn: one.number },
      "aria-checked": String(one.number === current), tabindex: one.number === current ? "0" : "-1",
      on: { click: () => choose(one.number) },
    },
    `${one.title} · ${one.state_label}`, el("span", { cls: "said" }, one.said),
  )));
  const button = turns.querySelector("[aria-checked=true]");
  if (held) button?.focus();
  if (button) turns.scrollLeft = button.offsetLeft - turns.offsetLeft - 8;
  return current;
}

let drawn = "";

async function drawChosen(number) {
  if (number === undefined) return;
  const detail = await ask(`turns/${number}`);
  if ((chosen ?? state.turns.at(-1)?.number) !== number) return; // another was chosen meanwhile
  const text = JSON.stringify(detail);
  if (text === drawn) return;
  drawn = text;
  const open = new Set([...turn.querySelectorAll("details[open]")].map((one) => one.dataset.layer ?? ""));
  turn.replaceChildren(...drawTurn(detail, { exact }));
  turn.dataset.turn = number;
  for (const one of turn.querySelectorAll("details")) one.open = open.has(one.dataset.layer ?? "");
}

function choose(number) {
  chosen = number === state.turns.at(-1)?.number ? null : number;
  drawChosen(drawTurns());
}

turns.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = state.turns.map((one) => one.number);
  const at = all.indexOf(chosen ?? all.at(-1));
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
  choose(next);
  turns.querySelector("[aria-checked=true]")?.focus();
});

async function exact(request) {
  const answer = await fetch(request.exact);
  if (!answer.ok) return void (notice.textContent = word("failed"));
  const text = await answer.text();
  find("exact-text").textContent = text;
  find("exact-arranged").textContent = JSON.stringify(JSON.parse(text), null, 2);
  find("exact-bytes").textContent = `${request.exact_bytes} bytes`;
  find("exact-hash").textContent = request.fingerprint;
  find("exact-link").href = request.exact;
  find("exact").showModal();
}
find("exact-close").addEventListener("click", () => find("exact").close());

function drawStatus() {
  find("status").replaceChildren(...state.status.flatMap((one) => [
    el("dt", {}, one.label), el("dd", { data: { status: one.name } }, one.value),
  ]));
  for (const [name, on] of Object.entries(state.pressed)) {
    document.querySelector(`[data-drill=${name}]`).setAttribute("aria-pressed", String(on));
  }
  for (const [name, can] of Object.entries(state.possible)) {
    document.querySelector(`[data-drill=${name}]`).disabled = !can;
  }
}

// The drawing comes as an image document, so no text here ever becomes markup.
let measured = "";

function drawPlot() {
  const now = JSON.stringify(state.measured);
  if (now === measured || !state.measured.rows.length) return;
  measured = now;
  const asked = new XMLHttpRequest();
  asked.open("GET", "api/plot.svg");
  asked.responseType = "document";
  asked.onload = () => {
    const drawing = asked.responseXML?.documentElement;
    if (drawing) find("plot").replaceChildren(document.adoptNode(drawing));
  };
  asked.send();
  const numbers = find("numbers");
  numbers.hidden = false;
  numbers.querySelector("thead tr").replaceChildren(...state.measured.heads.map((head, column) =>
    el("th", { scope: "col", cls: column ? "number" : null }, head)));
  numbers.querySelector("tbody").replaceChildren(...state.measured.rows.map((row) =>
    el("tr", {}, ...row.map((cell, column) => el("td", { cls: column ? "number" : null }, cell)))));
}

async function draw() {
  phone.update(state.chat);
  drawStatus();
  drawPlot();
  await drawChosen(drawTurns());
}

async function listen() {
  for (;;) {
    try {
      state = await ask(`state?since=${known}`);
      known = state.version;
      await draw();
      document.body.dataset.version = known;
    } catch {
      notice.textContent = word("failed");
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

find("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value;
  if (!text.trim()) return;
  message.value = "";
  say(text);
});
message.addEventListener("keydown", (event) => {
  // While a Chinese input method composes, Enter chooses a word and sends nothing.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  find("say").requestSubmit();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-say], button[data-drill]");
  if (!button) return;
  if (button.dataset.say) say(button.dataset.say);
  else if (button.dataset.drill === "redeliver") act("drills/redeliver", { turn: chosen ?? state?.turns.at(-1)?.number });
  else {
    if (["card", "forget"].includes(button.dataset.drill)) chosen = null;
    act(`drills/${button.dataset.drill}`, {});
  }
});

listen();
