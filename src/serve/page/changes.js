// The switches as the language of --intervene, and as a command for a shell.
import {session} from './session.js';

// In quotation marks that it does not hold itself.
const quoted = (text) => text.includes('"') ? `'${text.replaceAll("'", '’')}'` : `"${text}"`;

function changeOf([part, {kind, by}]) {
  switch (kind) {
    case 'scale':
      return `scale ${part} ${by}`;
    case 'mean':
      return `mean ${part} from ${quoted(session.text)}`;
    case 'freeze':
      return `freeze pattern.${part} from ${quoted(session.frozen)}`;
    default:
      return `off ${part}`;
  }
}

export const intervention = () => [...session.changes].map(changeOf).join('; ');

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// `options` by name; those without a value are left out.
export function commandOf(name, options) {
  const given = Object.entries({...options, intervene: intervention()})
    .filter(([, value]) => value !== '' && value !== null && value !== undefined)
    .map(([option, value]) => value === true ? `--${option}`
      : `--${option} ${typeof value === 'number' ? value : shell(value)}`);
  return ['headlight', name, session.model, ...given].join(' ');
}
