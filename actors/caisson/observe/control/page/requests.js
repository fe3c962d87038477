// Requests to the server that this page comes from.

class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// Kept by address and port, for other windows and when the page is opened again.
const sessionKey = "caisson session";
let session = localStorage.getItem(sessionKey);

// Longer than a gate may take to answer.
const longestAnswer = 75 * 1000;

async function ask(method, path, body) {
  const options = { method, cache: "no-store", credentials: "omit",
    signal: AbortSignal.timeout(longestAnswer), headers: {} };
  if (session) options.headers.Authorization = `Bearer ${session}`;
  if (body) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  let answer;
  try {
    response = await fetch(path, options);
    answer = await response.json().catch(() => ({}));
  } catch {
    throw new RequestError(0, "The program does not answer.");
  }
  if (!response.ok)
    throw new RequestError(response.status, answer.error || `HTTP ${response.status}`);
  return answer;
}

// Trades the ticket of a link for a session, and takes it out of the address.
async function useTicket() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (!ticket) {
    // Another window may have a newer one.
    session = localStorage.getItem(sessionKey) || session;
    return;
  }
  history.replaceState(null, "", "/");
  const answer = await ask("POST", "/v1/session", { ticket });
  session = answer.session;
  localStorage.setItem(sessionKey, session);
}

const gatePath = (name, what = "") =>
  `/v1/gates/${encodeURIComponent(name)}${what && `/${what}`}`;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
