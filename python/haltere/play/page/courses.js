// Courses of a link's rate from the program's list: factors become the steps of a schedule.

import { bits } from "./data.js";

let courses = [];
export const use = (given) => { courses = given; };
export const all = () => courses;

const at = (seconds) => `${+seconds.toFixed(3)}s`;
const rate = (bits) => bits === 0 ? "0bit" : `${+(bits / 1e3).toFixed(1)}kbit`;

function steps(course, link) {
  const full = bits(link.rate);
  return full == null ? null : course.steps.map(([when, factor]) => ({ at: at(when), rate: rate(full * factor) }));
}

// Which course a link has: a name of the list, "" for a constant rate, "own" for any other schedule.
export function courseOf(link) {
  if (!link.schedule?.length) return "";
  if (!link.schedule_repeat) return outages(link) ? "" : "own";
  const found = courses.find((course) => link.schedule_repeat === at(course.repeat_s) && JSON.stringify(steps(course, link)) === JSON.stringify(link.schedule));
  return found?.name ?? "own";
}

// True if the schedule has nothing but outages.
export const outages = (link) => !link.schedule_repeat && (link.schedule ?? []).some((step) => step.rate === "0bit");

// Gives a link a course; the other direction has it too, with the rate of its own if it has one.
export function setCourse(link, name) {
  const course = courses.find((one) => one.name === name);
  for (const one of link.reverse?.rate ? [link, link.reverse] : [link]) {
    delete one.schedule;
    delete one.schedule_repeat;
    const written = course && steps(course, one);
    if (written) Object.assign(one, { schedule: written, schedule_repeat: at(course.repeat_s) });
  }
}

// The rate has another value: its course is that of the new one. Outages stay.
export function rescale(link, name) {
  if (outages(link)) for (const step of link.schedule) { if (step.rate !== "0bit") step.rate = link.rate; }
  else if (name && name !== "own") setCourse(link, name);
}
