// Asking the server.
import {say} from './words.js';

// Is called when the server wants its key, and returns a promise that it has been given.
let login = null;
let pending = null;  // that promise, while it is open: questions asked side by side share one

export function setLogin(ask) {
  login = ask;
}

// Shows warnings of the server; called with those of the last answer of every path.
let showWarnings = () => {};
const warningsOf = new Map();

export function setWarnings(show) {
  showWarnings = show;
}

function keepWarnings(path, warnings = []) {
  warningsOf.set(path, warnings);
  showWarnings([...new Set([...warningsOf.values()].flat())]);
}

// Browsers reject `answer` with words of their own ("Failed to fetch") when the server is gone.
async function reached(answer) {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof TypeError ? new Error(say('no_answer')) : error;
  }
}

async function post(path, body, signal) {
  for (;;) {
    const answer = await reached(fetch(path, body === undefined ? {signal} : {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body), signal}));
    if (answer.status === 401 && login !== null && path !== '/api/login') {
      pending ??= login().finally(() => { pending = null; });
      await pending;
    } else if (answer.ok) {
      return answer;
    } else {
      const {error} = await answer.json().catch(() => ({error: {message: answer.statusText}}));
      throw new Error(error.message);
    }
  }
}

// The JSON at a path; with a body it is posted.
export async function ask(path, body, signal) {
  const answer = await (await post(path, body, signal)).json();
  keepWarnings(path, answer.warnings);
  return answer;
}

// Takes a stream of server-sent events piece by piece, wherever it is cut: a function that returns
// the events that have become whole. It throws the error that an event tells of.
export function eventReader() {
  let rest = '';
  return (piece) => {
    const events = (rest + piece).split('\n\n');
    rest = events.pop();
    return events.filter((event) => event.startsWith('data: ') && event !== 'data: [DONE]').map((event) => {
      const told = JSON.parse(event.slice('data: '.length));
      if (told.error) {
        throw new Error(told.error.message);
      }
      return told;
    });
  };
}

// Calls see(data) for every event of a stream, until it ends.
export async function follow(path, body, signal, see) {
  const reader = (await post(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  const read = eventReader();
  keepWarnings(path);
  const take = (event) => {
    if (event.warnings !== undefined) {
      keepWarnings(path, event.warnings);
    }
    see(event);
  };
  for (;;) {
    const {done, value} = await reached(reader.read());
    if (done) {
      return;
    }
    read(value).forEach(take);
  }
}

// The answer of a path that tells how far it is: tell(share) is called until it comes.
export async function askLong(path, body, signal, tell) {
  let answer = null;
  await follow(path, {...body, stream: true}, signal, (event) => {
    if (event.progress === undefined) {
      answer = event;
    } else {
      tell(event.progress);
    }
  });
  if (answer === null) {
    throw new Error('the answer was cut');
  }
  return answer;
}

// A function that does work(signal) a moment after it was last called, and gives up what it was
// doing before. Errors go to tell(message); '' clears it.
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
