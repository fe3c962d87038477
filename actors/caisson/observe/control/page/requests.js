// Requests to the server that this page comes from.

class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const options = { method, cache: "no-store", credentials: "same-origin" };
  if (body) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new RequestError(0, "The program does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new RequestError(response.status, answer.error || `HTTP ${response.status}`);
  return answer;
}

const gatePath = (name, what = "") =>
  `/v1/gates/${encodeURIComponent(name)}${what && `/${what}`}`;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
