// What the page asks of the program that serves it.

// What went wrong, in one sentence, with the code of the API.
class CallError extends Error {
  constructor({message, code, reason}) {
    const codes = [code, reason].filter((word) => word).join(': ');
    super(codes ? `${message} (${codes})` : message);
    this.code = code;
  }
}

// The token that stands behind the '#' of the address that was printed. It stays
// with this tab, and is taken out of what the browser shows and remembers.
const TOKEN_KEY = 'paceline-token';
const pageToken = (() => {
  const given = /^#token=([0-9a-f]+)$/.exec(location.hash);
  if (given !== null) {
    sessionStorage.setItem(TOKEN_KEY, given[1]);
    history.replaceState(null, '', '#/');
  }
  return sessionStorage.getItem(TOKEN_KEY) ?? '';
})();

// The answer of a method of the API to a request, both in the proto JSON
// mapping. CallError if there is none.
async function call(method, request = {}) {
  let response;
  try {
    response = await fetch(`/api/${method}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Authorization': `Bearer ${pageToken}`,
      },
      body: JSON.stringify(request),
    });
  } catch {
    throw new CallError({
      message: 'The program that serves this page does not answer: has it ended?',
      code: 'UNAVAILABLE',
    });
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new CallError({message: 'The answer is no JSON', code: 'INTERNAL'});
  }
  if (!response.ok) throw new CallError(answer.error ?? {message: 'It failed'});
  return answer;
}

// Returns once the page is in view again, at once if it is.
function inView() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });
}

const POLL_MS = 1000;

// Does `work` again and again while `going()`, with a pause of a second, or
// longer where the answers take long: one page must not keep a coordinator busy.
async function poll(going, work) {
  while (going()) {
    await inView();
    const began = performance.now();
    try {
      await work();
      if (going()) tellProblem('');
    } catch (error) {
      if (going()) tellProblem(error.message);
      if (!(error instanceof CallError)) throw error;
    }
    const took = performance.now() - began;
    await new Promise(
        (resolve) => setTimeout(resolve, Math.max(POLL_MS, 4 * took)));
  }
}

// Above everything; empty: nothing is wrong.
function tellProblem(text) {
  const node = document.getElementById('problem');
  if (node.textContent !== text) node.textContent = text;
  node.hidden = text === '';
}

// What was done, until something else is.
function tellDone(text) {
  const node = document.getElementById('done');
  node.textContent = text;
  node.hidden = text === '';
}
