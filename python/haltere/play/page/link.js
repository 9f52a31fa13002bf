// The page of a link that a browser opened without the token: the command that opens it. The set-up stays in the address.

const command = document.getElementById("command"), copy = document.getElementById("copy"), here = document.getElementById("here");
// Of an address the part after `#` may hold a quote, which would end the argument.
if (location.hash.length > 1) command.value = `haltere play '${location.origin}/${location.hash.replaceAll("'", "%27")}'`;
if (here) here.href += location.hash;
copy.onclick = async () => {
  command.select();
  await navigator.clipboard.writeText(command.value);
  copy.textContent = "Copied";
};
