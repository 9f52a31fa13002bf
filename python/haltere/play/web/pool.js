// Workers, and the tasks that wait for one.

// The module: beside the page if that came from a server, else from a script, because a page of a file may not read other files.
async function bytes() {
  if (location.protocol.startsWith("http")) {
    const answer = await fetch("haltere.wasm.gz");
    if (!answer.ok) throw new Error(`haltere.wasm.gz must be beside this page, got ${answer.status}`);
    return unpacked(new Uint8Array(await answer.arrayBuffer()));
  }
  await new Promise((loaded, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: "haltere.wasm.js", onload: loaded, onerror: () => failed(new Error("haltere.wasm.js must be beside this page, got nothing")) });
    document.head.append(script);
  });
  const text = atob(globalThis.HALTERE_MODULE);
  delete globalThis.HALTERE_MODULE;
  return unpacked(Uint8Array.from(text, (one) => one.charCodeAt(0)));
}

// Some servers say that a packed file is packed, and the browser unpacks it.
async function unpacked(data) {
  if (data[0] !== 0x1f || data[1] !== 0x8b) return data;
  return new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

export const compiled = async () => WebAssembly.compile(await bytes());

export class Pool {
  constructor(count = Math.min(Math.max(navigator.hardwareConcurrency ?? 2, 2), 16), module = null) {
    Object.assign(this, { waiting: [], workers: [], next: 0, count });
    const source = document.getElementById("worker").textContent;
    this.address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.module = module ?? compiled();
  }

  // Does a task in a worker that is free. `hear` takes what is told on the way.
  do(name, given = {}, hear = () => {}) {
    return new Promise((done, refused) => {
      this.waiting.push({ message: { do: name, ...given }, hear, done, refused });
      this.go();
    });
  }

  // What waits is given up.
  forget() { for (const { refused } of this.waiting.splice(0)) refused(null); }

  // All that runs and waits is given up: a run can be ended only with its worker.
  stop() {
    this.forget();
    for (const worker of this.workers.filter((one) => one.task)) {
      worker.thread.terminate();
      this.workers.splice(this.workers.indexOf(worker), 1);
      worker.task.refused(null);
    }
  }

  get busy() { return this.workers.filter((one) => one.task).length; }

  async go() {
    while (this.waiting.length) {
      const worker = this.workers.find((one) => !one.task) ?? (this.workers.length < this.count ? this.open() : null);
      if (!worker) return;
      const task = worker.task = this.waiting.shift();
      worker.ready.then(() => worker.thread.postMessage({ id: (task.id = ++this.next), ...task.message }), (error) => this.end(worker, () => task.refused(error)));
    }
  }

  open() {
    const thread = new Worker(this.address), worker = { thread, task: null };
    thread.onmessage = ({ data }) => this.hear(worker, data);
    worker.ready = this.module.then((module) => new Promise((opened) => {
      worker.opened = opened;
      thread.postMessage({ id: 0, do: "open", module });
    }));
    worker.ready.catch(() => {}); // whoever asks something is told
    this.workers.push(worker);
    return worker;
  }

  hear(worker, { id, message, done, refused }) {
    if (id === 0) return refused ? worker.task?.refused(refused) : worker.opened();
    const { task } = worker;
    if (task?.id !== id) return;
    if (message) return task.hear(message);
    this.end(worker, () => refused ? task.refused(refused) : task.done(done));
  }

  end(worker, how) {
    worker.task = null;
    how();
    this.go();
  }
}
