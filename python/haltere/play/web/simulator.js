// The simulator: a WebAssembly module that takes a request as JSON and answers with JSON.

const words = new TextDecoder(), bytes = new TextEncoder();

export class Simulator {
  constructor(module) { Object.assign(this, { module, instance: null }); }

  // What is asked, answered; throws `Refused` if it cannot be. A trap breaks the instance, so the next request has a new one.
  ask(request) {
    const e = (this.instance ??= new WebAssembly.Instance(this.module, {})).exports, said = bytes.encode(JSON.stringify(request));
    let answer;
    try {
      const at = e.haltere_take(said.length); // the memory may grow, and then its buffer is another
      new Uint8Array(e.memory.buffer, at, said.length).set(said);
      answer = JSON.parse(this.read(e, e.haltere_answer()));
    } catch (error) {
      this.instance = null;
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error; // a trap, or too deep a stack
      const panic = this.read(e, e.haltere_length());
      throw new Refused({ text: panic.startsWith("panicked") ? `a bug in haltere, please report it with the experiment: ${panic}` : `the run needs more memory than a browser gives: ${error.message}` });
    }
    if (answer.refused) throw new Refused(answer.refused);
    return answer.ok;
  }

  read(e, length) { return words.decode(new Uint8Array(e.memory.buffer, e.haltere_at(), length)); }
}

// Why a request was refused: the laboratory's words, the key that is to blame, and its line.
export class Refused extends Error {
  constructor({ text, at = "", line = null }) {
    super(text);
    Object.assign(this, { at, line });
  }
}
