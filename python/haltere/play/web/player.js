// The worker of the playground: a session that a page talks to.

import { Session } from "./session.js";

let session = null;

self.onmessage = ({ data }) => {
  if (data.module) {
    const { module, hello } = data;
    session = new Session(module, (told) => self.postMessage(told), hello.most);
    self.postMessage({ tell: "hello", ...session.about(), schema: session.schema(), ...hello });
  } else session.take(data);
};
