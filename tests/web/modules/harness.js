// Test framework of the page's modules: test() registers a test, runTests() runs all of them.

const tests = [];

export function test(name, body) {
  tests.push({name, body});
}

// Text of a value for comparison by content: numbers, texts, (typed) arrays and plain objects.
const shownAs = (value) => JSON.stringify(value, (_, part) =>
  ArrayBuffer.isView(part) ? Array.from(part) : part === undefined ? 'undefined' : part);

export function equal(got, expected, what = '') {
  if (shownAs(got) !== shownAs(expected)) {
    throw new Error(`${what} expected ${shownAs(expected)}, got ${shownAs(got)}`.trim());
  }
}

export function near(got, expected, tolerance = 1e-6) {
  const [a, b] = [[got].flat(), [expected].flat()];
  if (a.length !== b.length || !a.every((value, i) => Math.abs(value - b[i]) <= tolerance)) {
    throw new Error(`expected ${shownAs(expected)} to ${tolerance}, got ${shownAs(got)}`);
  }
}

// Returns {count, failures}: the number of tests, and a message for each that failed.
export async function runTests() {
  const failures = [];
  for (const {name, body} of tests) {
    try {
      await body();
    } catch (error) {
      const place = /modules\/([\w/.]+\.js:\d+)/.exec(error.stack?.replace(/.*harness\.js.*/g, ''));
      failures.push(`${name}: ${error.message} (${place?.[1] ?? 'somewhere'})`);
    }
  }
  return {count: tests.length, failures};
}
