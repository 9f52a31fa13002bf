// Presets of the program: set-ups to begin with.

import { setCourse } from "./courses.js";
import { element } from "./form.js";

export function fill(select, presets, chosen) {
  select.append(...presets.map(({ name, title }) => element("option", { value: name }, title)));
  select.onchange = () => {
    const preset = presets.find(({ name }) => name === select.value);
    if (preset) chosen(preset);
  };
}

// The set-ups of a preset, each its own copy.
export function setups(preset) {
  const out = structuredClone(preset.setups);
  if (preset.course) for (const one of out) setCourse(one.topology.dumbbell.bottleneck, preset.course);
  return out;
}
