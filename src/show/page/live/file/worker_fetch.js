// Questions to workers, in the form of fetch().

// Returns the message of an answer with an error.
function messageOf(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return text;
  }
}

// Returns a function like fetch(path, {method, body, signal}). `workerFor(path)` resolves to the
// worker that answers a path. The questions of a worker that dies fail with nameOf(problem).
export function workerFetch(workerFor, nameOf = (problem) => problem) {
  const takers = new Map();    // by question: {worker, take(piece of its answer), fail(error)}
  const problems = new Map();  // by worker that is listened to: the problem that ended it, or null
  let last = 0;

  const end = (worker, problem) => {
    problems.set(worker, problem);
    for (const [question, taker] of [...takers].filter(([, {worker: asked}]) => asked === worker)) {
      takers.delete(question);
      taker.fail(new Error(nameOf(problem)));
    }
  };

  const listenTo = (worker) => {
    if (!problems.has(worker)) {
      problems.set(worker, null);
      worker.addEventListener('message', ({data}) =>
        data.problem === undefined ? takers.get(data.question)?.take(data) : end(worker, data.problem));
      worker.addEventListener('error', ({message}) => end(worker, message));
    }
    if (problems.get(worker) !== null) {
      throw new Error(nameOf(problems.get(worker)));
    }
  };

  return async (path, {method = 'GET', body = '', signal} = {}) => {
    const worker = await workerFor(path);
    signal?.throwIfAborted();
    listenTo(worker);
    last += 1;
    const question = last;
    return new Promise((resolve, reject) => {
      const encoder = new TextEncoder();
      let pieces = null;  // controller of the answer's stream; null: the answer has not begun
      const fail = (error) => pieces === null ? reject(error) : pieces.error(error);
      const take = ({status, text, isLast}) => {
        if (pieces === null) {
          const stream = new ReadableStream({start: (controller) => { pieces = controller; }});
          resolve(new Response(stream, {status}));
        } else if (status !== 0) {  // the answer breaks off
          takers.delete(question);
          fail(new Error(messageOf(text)));
          return;
        }
        pieces.enqueue(encoder.encode(text));
        if (isLast) {
          takers.delete(question);
          pieces.close();
        }
      };
      takers.set(question, {worker, take, fail});
      signal?.addEventListener('abort', () => {
        if (takers.delete(question)) {
          worker.postMessage({leave: question});
          fail(signal.reason);
        }
      });
      worker.postMessage({question, method, path, body});
    });
  };
}
