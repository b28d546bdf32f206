// Questions to workers, in the form of fetch().

// Returns a function like fetch(path, {method, body, signal}). `workerFor(path)` resolves to the
// worker that answers a path.
export function workerFetch(workerFor) {
  const takers = new Map();  // by question: takes the pieces of its answer
  const known = new Set();   // workers that are listened to
  let last = 0;

  const listenTo = (worker) => {
    if (!known.has(worker)) {
      known.add(worker);
      worker.addEventListener('message', ({data}) => takers.get(data.question)?.(data));
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
      takers.set(question, ({status, text, isLast}) => {
        if (pieces === null) {
          const stream = new ReadableStream({start: (controller) => { pieces = controller; }});
          resolve(new Response(stream, {status}));
        }
        pieces.enqueue(encoder.encode(text));
        if (isLast) {
          takers.delete(question);
          pieces.close();
        }
      });
      signal?.addEventListener('abort', () => {
        if (takers.delete(question)) {
          worker.postMessage({leave: question});
          (pieces === null ? reject : (error) => pieces.error(error))(signal.reason);
        }
      });
      worker.postMessage({question, method, path, body});
    });
  };
}
