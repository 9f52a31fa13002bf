// The figures of the last two seconds, one tile each.

import { element } from "./form.js";

const fixed = (digits, unit, scale = 1) => (value) => value == null ? ["–"] : [(value * scale).toFixed(value * scale >= 100 ? 0 : digits), unit];
const whole = (value) => value == null ? ["–"] : [value >= 1e5 ? `${(value / 1e3).toFixed(0)}k` : String(value)];
const TILES = [
  ["used", "Used", fixed(0, "%", 100), "Share of what the bottleneck could carry from left to right, over the last two seconds"],
  ["delay", "Queueing", fixed(1, "ms"), "Mean queueing delay at the bottleneck over the last two seconds"],
  ["rtt", "Ping", fixed(1, "ms"), "Median round trip of the last two seconds"],
  ["fair", "Fairness", fixed(2), "Jain's index of what the flows received in the last two seconds; 1 if all have the same"],
  ["dropped", "Dropped", whole, "Packets since the start, at the bottleneck"],
  ["marked", "Marked", whole, "Packets marked CE since the start"],
];

export function drawTiles(root, summary) {
  const cells = TILES.map(([id, title, say, about]) => {
    const [value, unit] = say(summary?.[id]);
    return element("div", { class: "tile", "data-tile": id, title: about }, element("span", {}, title), element("b", {}, value, unit ? element("small", {}, ` ${unit}`) : null));
  });
  root.replaceChildren(...cells);
}
