// Requests to the server.
import {say} from '../words.js';

// Source of the answers, and actions of the page on them; set by open.js and main.js.
export const page = {
  fetch: (...request) => fetch(...request),  // the page of one file asks a worker instead
  score: 'induction',      // of heads, which the training tab shows first
  hasModel: true,          // false: the reader trains the first one
  text: '',                // opening text; '': the usual one
  login: null,             // asks for the server's key; resolves when the server accepts it
  showWarnings: () => {},  // shows the warnings of the last answer of every path
};

let pending = null;  // promise of an open login; concurrent requests share it
const warningsOf = new Map();  // by path
let era = 0;  // number of texts before the current one; their late answers have no warnings

// Forgets the warnings about an earlier text.
export function clearWarnings() {
  ++era;
  warningsOf.clear();
  page.showWarnings([]);
}

function keepWarnings(path, asked, warnings = []) {
  if (asked !== era) {
    return;
  }
  if (warnings.length > 0) {
    warningsOf.set(path, warnings);
  } else if (!warningsOf.delete(path)) {
    return;  // screen readers may read a live region again when it is written
  }
  page.showWarnings([...new Set([...warningsOf.values()].flat())]);
}

// Returns an error of the server, in the page's language if it is a usual one.
function errorOf({message, code}) {
  const own = code ? say(`error_${code}`) : undefined;
  return new Error(own ?? message);
}

// Replaces the browser's own error ("Failed to fetch") when the server cannot be reached.
async function reached(answer) {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof TypeError ? new Error(say('no_answer')) : error;
  }
}

async function post(path, body, signal) {
  for (;;) {
    const answer = await reached(page.fetch(path, body === undefined ? {signal} : {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body), signal}));
    if (answer.status === 401 && page.login !== null && path !== '/api/login') {
      pending ??= page.login().finally(() => { pending = null; });
      await pending;
    } else if (answer.ok) {
      return answer;
    } else {
      const {error} = await answer.json().catch(() => ({error: {message: answer.statusText}}));
      if (error.code !== 'loading') {
        throw errorOf(error);
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

// Returns the JSON at a path. Posts `body` if given.
export async function ask(path, body, signal) {
  const asked = era;
  const answer = await (await post(path, body, signal)).json();
  keepWarnings(path, asked, answer.warnings);
  return answer;
}

// Returns a parser of server-sent events: it takes pieces of a stream, cut anywhere, and returns
// the completed events. It throws the error of an error event.
export function eventReader() {
  let rest = '';
  return (piece) => {
    const events = (rest + piece).split('\n\n');
    rest = events.pop();
    return events.filter((event) => event.startsWith('data: ') && event !== 'data: [DONE]').map((event) => {
      const told = JSON.parse(event.slice('data: '.length));
      if (told.error) {
        throw errorOf(told.error);
      }
      return told;
    });
  };
}

// Calls see(data) for every event of a stream, until it ends. `warns` false: warnings are not shown.
export async function follow(path, body, signal, see, {warns = true} = {}) {
  const asked = warns ? era : null;
  const pieces = (await post(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  const read = eventReader();
  keepWarnings(path, asked);
  const take = (event) => {
    if (event.warnings !== undefined) {
      keepWarnings(path, asked, event.warnings);
    }
    see(event);
  };
  for (;;) {
    const {done, value} = await reached(pieces.read());
    if (done) {
      return;
    }
    read(value).forEach(take);
  }
}

// Returns the answer of a path that reports progress. Calls tell(share) until it comes.
export async function askLong(path, body, signal, tell, options) {
  let answer = null;
  await follow(path, {...body, stream: true}, signal, (event) => {
    if (event.progress === undefined) {
      answer = event;
    } else {
      tell(event.progress);
    }
  }, options);
  if (answer === null) {
    throw new Error('the answer was cut');
  }
  return answer;
}

// Returns a function that starts work(signal) after a delay from its last call, and aborts the
// previous work. Errors go to tell(message); '' clears it.
export function latest(milliseconds, work, tell) {
  let timer = 0;
  let controller = null;
  return () => {
    clearTimeout(timer);
    controller?.abort();
    timer = setTimeout(async () => {
      const mine = new AbortController();
      controller = mine;
      try {
        await work(mine.signal);
        tell('');
      } catch (error) {
        if (!mine.signal.aborted) {
          tell(error.message);
        }
      }
    }, milliseconds);
  };
}
