// The chat: bubbles, quick replies and Flex messages, drawn from LINE's own message objects.
import { el, word } from "./dom.js";

// A Flex message's colours are left out: the card follows the page, light and dark.
const SIZES = new Set(["xs", "sm", "md", "lg", "xl", "xxl"]);

const LINKS = /^(https?|tel):/;

// Of a colour as Flex writes it, #RRGGBB.
function isDark(color = "") {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}

export class Phone {
  // `say` and `press` post what the person does; both get LINE's own values.
  constructor({ log, quick, say, press }) {
    Object.assign(this, { log, quick, say, press });
    this.shown = 0;
  }

  update(bubbles) {
    if (bubbles.length < this.shown) {
      this.log.replaceChildren();
      this.shown = 0;
    }
    if (bubbles.length === this.shown) return;
    if (this.shown === 0) this.log.replaceChildren();
    for (const bubble of bubbles.slice(this.shown)) this.log.append(...this.drawn(bubble));
    this.shown = bubbles.length;
    this.quick.replaceChildren(...this.replies(bubbles.at(-1)));
    this.log.scrollTop = this.log.scrollHeight;
  }

  drawn({ mine, text, message }) {
    const by = el("p", { cls: mine ? "by mine" : "by" }, word(mine ? "you" : "them"));
    if (mine) return [by, el("div", { cls: "bubble mine" }, text)];
    if (message.type === "flex") return [by, this.flex(message)];
    return [by, el("div", { cls: "bubble" }, message.text ?? message.altText ?? message.type)];
  }

  flex(message) {
    const contents = message.contents;
    const label = `${word("card")}：${message.altText}`;
    if (contents.type !== "carousel") return this.bubble(contents, label);
    return el(
      "div", { cls: "carousel", role: "group", "aria-label": label, tabindex: "0" },
      ...contents.contents.map((one) => this.bubble(one, label)),
    );
  }

  bubble(bubble, label) {
    const parts = ["header", "hero", "body", "footer"].filter((name) => bubble[name]);
    return el(
      "div", { cls: "flex", role: "group", "aria-label": label },
      ...parts.map((name) => el("div", { cls: "part" }, this.component(bubble[name]))),
    );
  }

  component(one) {
    switch (one.type) {
      case "box":
        // A box that can be pressed is how a card makes its large buttons.
        if (one.action) return this.button(one.action, isDark(one.backgroundColor) ? "primary" : "");
        return el("div", { cls: one.layout ?? "vertical" }, ...(one.contents ?? []).map((c) => this.component(c)));
      case "text":
        return el("p", { cls: this.styled(one) }, one.text ?? (one.contents ?? []).map((span) => span.text).join(""));
      case "button":
        return this.button(one.action, one.style === "primary" ? "primary" : "");
      case "separator":
        return el("hr");
      case "filler":
        return el("span", { "aria-hidden": "true" });
      default: // images would have to come from elsewhere
        return el("p", {}, `〔${one.type}〕`);
    }
  }

  styled(one) {
    const names = [];
    if (one.wrap) names.push("wrap");
    if (one.weight === "bold") names.push("bold");
    if (SIZES.has(one.size)) names.push(one.size);
    return names.join(" ");
  }

  button(action, cls) {
    const label = action.label ?? action.text ?? "";
    if (action.type === "uri") {
      return LINKS.test(action.uri) ? el("a", { href: action.uri, rel: "noreferrer", target: "_blank" }, label) : el("span", {}, label);
    }
    return el("button", { type: "button", cls, on: { click: () => this.act(action) } }, label);
  }

  act(action) {
    if (action.type === "message") return this.say(action.text);
    if (action.type === "postback") return this.press(action.data, action.displayText ?? action.label ?? "");
    return undefined;
  }

  replies(bubble) {
    const items = bubble?.message?.quickReply?.items ?? [];
    return items.map((item) => this.button(item.action, "chip"));
  }
}
