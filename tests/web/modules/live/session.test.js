import {changed, listen, newSession, queryOf, readQuery} from '../../../../src/show/page/live/session.js';
import {equal, test} from '../harness.js';

const read = (query) => {
  const session = newSession();
  readQuery(query, session);
  return session;
};

test('default settings are left out of the address', () => {
  equal(queryOf(newSession()), '');
  equal(queryOf({...newSession(), models: [{id: 'toy'}], model: 'toy'}), '');
});

test('the current work is written to the address and restored from it', () => {
  const session = {...newSession(), model: 'b', models: [{id: 'a'}, {id: 'b'}], part: 'pair', text: 'One & "two"; 셋\n',
                   frozen: 'x', scored: 'y', system: 'Be brief.', chat_changes: 'off 1.1, mlp.3', clean: 'c', corrupt: 'd', answer: ' key', wrong: '#', carried: 'mlp_out',
                   carry: {part: 'mlp_out.1', from: 3, to: 5}};
  session.changes = new Map([['0.1', {kind: 'off', by: 2}], ['mlp.3', {kind: 'scale', by: 0.5}],
                             ['1.2', {kind: 'freeze', by: 2}], ['layer.2', {kind: 'mean', by: 2}]]);
  session.settings = {...session.settings, temperature: 0, seed: 7};
  const back = read(queryOf(session));
  for (const name of ['model', 'part', 'text', 'system', 'chat_changes', 'frozen', 'scored', 'clean', 'corrupt', 'answer', 'wrong', 'carried',
                      'carry', 'settings']) {
    equal(back[name], session[name], name);
  }
  equal([...back.changes].map(([part, {kind}]) => [part, kind]),
        [['0.1', 'off'], ['mlp.3', 'scale'], ['1.2', 'freeze'], ['layer.2', 'mean']]);
  equal(back.changes.get('mlp.3').by, 0.5);
});

test('a part that is carried at all tokens has no positions', () => {
  const session = {...newSession(), carry: {part: '0.1', from: null, to: null}};
  equal(read(queryOf(session)).carry, session.carry);
});

test('unknown values in an address are ignored', () => {
  const session = read('part=lost&changes=0.1:burn,;2.0:off,nonsense,1.1:off&carry=<script>&temperature=99&seed=x');
  equal([session.part, session.carry, session.settings], ['write', null, newSession().settings]);
  equal([...session.changes.keys()], ['1.1']);
});

test('other parameters of the address are kept', () => {
  equal(queryOf({...newSession(), text: 'a'}, 'lang=ko&text=b'), 'lang=ko&text=a');
});

test('a change is reported also when the browser refuses the address', () => {
  let told = 0;
  listen(['frozen'], () => { ++told; });
  history.replaceState = () => { throw new DOMException('too many calls', 'SecurityError'); };
  try {
    changed('frozen');
  } finally {
    delete history.replaceState;
  }
  equal(told, 1);
});
