// Undo and redo: what the page looked like after each edit.

const DEPTH = 200;

export class History {
  constructor() { this.clear(null); }

  clear(state) {
    this.states = state == null ? [] : [JSON.stringify(state)];
    this.at = this.states.length - 1;
  }

  // After an edit. The same state twice is one.
  push(state) {
    const text = JSON.stringify(state);
    if (text === this.states[this.at]) return;
    this.states = [...this.states.slice(0, this.at + 1), text].slice(-DEPTH);
    this.at = this.states.length - 1;
  }

  get canUndo() { return this.at > 0; }
  get canRedo() { return this.at < this.states.length - 1; }

  // The state one step back (-1) or forward (1), without going there; null if there is none.
  look(step) { return this.states[this.at + step] == null ? null : JSON.parse(this.states[this.at + step]); }
  go(step) { this.at += step; }
}
