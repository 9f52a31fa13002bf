// The set-ups of a page in the part of its address after `#`, which a browser sends to nobody.

const KEY = "setup=";
const MOST = 200_000; // characters of the set-ups: what the program takes, and no more is unpacked

async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
    if ((size += value.length) > MOST) throw new Error("too long");
  }
}

export async function pack(text) {
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return btoa(Array.from(packed, (one) => String.fromCharCode(one)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Throws if the text is damaged or too long.
export async function unpack(text) {
  const packed = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(packed, new DecompressionStream("deflate-raw")));
}

export const encode = async (setups) => KEY + await pack(JSON.stringify({ version: 1, setups }));

// The set-ups in an address or in what is after its `#`; null if it has none. Throws if they are damaged.
export async function decode(address) {
  const hash = address.includes("#") ? address.slice(address.indexOf("#") + 1) : address;
  if (!hash.startsWith(KEY)) return null;
  let value;
  try {
    value = JSON.parse(await unpack(hash.slice(KEY.length)));
  } catch {
    throw new Error("link: setup must be as the playground wrote it, got a damaged one; copy the whole link");
  }
  if (value?.version !== 1 || !Array.isArray(value.setups)) throw new Error("link: version must be 1, got another; use the version of Haltere that made it");
  return value.setups;
}

// The link for others: without the token, which is for this machine.
export const address = (hash) => `${location.href.split(/[?#]/)[0]}#${hash}`;
