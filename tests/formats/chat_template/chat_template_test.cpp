#include "headlight/formats/chat_template/chat_template.h"
#include "base/json.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "support/published_templates.h"
#include "support/test.h"

namespace chat_template_test {
struct Row {
  std::string source;
  std::string expected;  // output, or a part of the error
};

std::string rendered(const std::string& source, const std::string& variables = "{}",
                     const std::string& messages = R"([{"role": "user", "content": "hi"}])") {
  return ChatTemplate(source).render({.messages = messages, .variables = variables});
}

std::string error_of(const std::string& source) {
  try {
    return "rendered " + rendered(source).substr(0, 100);
  } catch (const Error& error) {
    return error.what();
  }
}

// Returns the 64-bit FNV-1a hash and the size in bytes.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += kDigits[(hash >> shift) & 15U];
  }
  return digits + " " + std::to_string(text.size());
}

Json tools_of(const Json& conversation, const std::vector<Json>& all) {
  const Json tools = conversation.value("tools", Json());
  for (const Json& other : all) {
    if (tools.is_string() && other["name"].text() == tools.text()) {
      return other["tools"];
    }
  }
  return tools;
}

ChatTemplateInput input_of(const Json& conversation, const std::vector<Json>& all) {
  Json variables = conversation.value("variables", Json::object());
  variables.add("bos_token", "<bos>");
  variables.add("eos_token", "<eos>");
  const Json tools = tools_of(conversation, all);
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 26;
  now.tm_hour = 15;
  now.tm_min = 30;
  now.tm_sec = 45;
  now.tm_wday = 5;
  now.tm_yday = 207;
  return {.messages = conversation["messages"].dump(),
          .tools = tools.is_null() ? "" : tools.dump(),
          .variables = variables.dump(),
          .add_generation_prompt = conversation.value("add_generation_prompt", true).boolean(),
          .now = now};
}

// Checks a rendering against the text, the digest or the refusal that transformers gave.
void check(const ChatTemplate& chat, const ChatTemplateInput& input, const Json& expected) {
  std::string text;
  bool is_refused = false;
  try {
    text = chat.render(input);
  } catch (const Error& error) {
    is_refused = true;
    text = error.what();
  }
  INFO(text);
  CHECK(is_refused == expected.is_null());
  if (!is_refused && expected.is_string() && text != expected.text()) {
    CHECK(digest(text) == expected.text());
  }
}

TEST_CASE("chat templates of published models give the prompts of transformers", "[chat]") {
  const std::vector<Json> all = chat_lines("conversations.jsonl");
  const std::vector<PublishedTemplate> templates = published_templates();
  CHECK(templates.size() == 55);
  for (const PublishedTemplate& one : templates) {
    const ChatTemplate chat(one.source);
    REQUIRE(one.prompts.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& name = all[i]["name"].text();
      INFO("tools/parity/make_chat_templates.py --show " << one.name << " '" << name
                                                         << "' prints the expected prompt");
      CHECK(one.prompts[i]["conversation"].text() == name);
      check(chat, input_of(all[i], all), one.prompts[i]["prompt"]);
    }
  }
}

TEST_CASE("expressions of chat templates have the values of Python", "[chat]") {
  // Each expected text is the output of Jinja 3.1.
  const Row
      rows[] =
          {
              {R"_({{ 7 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 6 / 3 }})_",
               R"_(3.5 3 -4 2 1024 0.5 2.0)_"},
              {R"_({{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.5e300 }} {{ 0.1 + 0.2 }})_",
               R"_(1.0 1e+16 1000000000000000.0 0.0001 1e-05 1.5e+300 0.30000000000000004)_"},
              {R"_({{ True }} {{ none }} {{ false }} {{ [1, 'a', None, 1.5, ('x',), {'k': true}] }})_",
               R"_(True None False [1, 'a', None, 1.5, ('x',), {'k': True}])_"},
              {R"_({{ ["it's", 'a"b', "both ' and \"", "\n\t\\", "é漢\u200b\x07"] }})_",
               R"_(["it's", 'a"b', 'both \' and "', '\n\t\\', 'é漢\u200b\x07'])_"},
              {R"_({{ -7 | abs }} {{ -2 ** 2 }} {{ 1 ~ 2 * 3 }} {{ 1 if false }} {{ not 1 == 2 }})_",
               R"_(7 4 16  True)_"},
              {R"_({{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 2 in [1, 2] }} {{ 'a' not in 'abc' }} {{ 'k' in {'k': 1} }})_",
               R"_(True False True False True)_"},
              {R"_({{ 'abcdef'[1:4] }} {{ 'abcdef'[::-1] }} {{ [1,2,3,4][-2:] }} {{ [1,2,3][::-2] }} {{ 'añb'[1] }} {{ (1,2,3)[:0:-1] }})_",
               R"_(bcd fedcba [3, 4] [3, 1] ñ (3, 2))_"},
              {R"_({{ x }}|{{ x is defined }}|{{ x == y }}|{{ x | default('d') }}|{{ '' | default('d', true) }}|{{ x | length }})_",
               R"_(|False|True|d|d|0)_"},
              {R"_({{ ' a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xxaxx'.lstrip('x') }}|{{ ' a '.rstrip() }}|{{ '--a'.lstrip('-') }})_",
               R"_(a b|a|axx| a|a)_"},
              {R"_({{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ ' a b c '.rsplit(None, 1) }} {{ ' a b '.split(None, 1) }} {{ 'a-b-c'.rsplit('-', 1) }})_",
               R"_(['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] [' a b', 'c'] ['a', 'b '] ['a-b', 'c'])_"},
              {R"_({{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'ab'.replace('', '.') }})_",
               R"_(True True a-b- a-bX .a.b.)_"},
              {R"_({{ 'hello wOrld'.title() }} {{ "it's a-b" | title }} {{ 'hELLO' | capitalize }} {{ 'a'.upper() }} {{ 'A' | lower }})_",
               R"_(Hello World It's A-B Hello A a)_"},
              {R"_({{ ','.join(['a', 'b']) }} {{ [1, 2] | join('-') }} {{ [{'n': 1}, {'n': 2}] | join(', ', attribute='n') }} {{ 'abc' | join('.') }})_",
               R"_(a,b 1-2 1, 2 a.b.c)_"},
              {R"_({{ 'añb'.find('b') }} {{ 'abc'.find('x') }} {{ 'banana'.count('an') }})_",
               R"_(2 -1 2)_"},
              {R"_({{ 'a\nb\r\nc'.splitlines() }} {{ 'xay'.removeprefix('x') }} {{ 'xay'.removesuffix('y') }} {{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }})_",
               R"_(['a', 'b', 'c'] ay xa True True True)_"},
              {R"_({{ {'b': 1, 'a': [1, {'c': none}], 'é"': '<&>\''} | tojson }})_",
               R"_({"b": 1, "a": [1, {"c": null}], "é\"": "<&>'"})_"},
              {R"_({{ {'b': 1, 'a': [1, {}], 'c': []} | tojson(indent=2) }})_",
               R"_({
  "b": 1,
  "a": [
    1,
    {}
  ],
  "c": []
})_"},
              {R"_({{ {'b': 1, 'a': 1.0} | tojson(sort_keys=true, separators=(',', ':')) }} {{ 'é👍' | tojson(ensure_ascii=true) }} {{ {1: 2, none: 3} | tojson }})_",
               R"_({"a":1.0,"b":1} "\u00e9\ud83d\udc4d" {"1": 2, "null": 3})_"},
              {R"_({{ {'b': 1, 'A': 2, 'c': 0} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(by='value') }} {{ {'a': 1} | items | list }})_",
               R"_([('A', 2), ('b', 1), ('c', 0)] [('b', 1), ('A', 2)] [('a', 1)])_"},
              {R"_({{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | sort(reverse=true) }} {{ ['a', 'B', 'b'] | unique | list }})_",
               R"_([1, 2, 3] ['A', 'b', 'c'] ['b', 'A'] ['a', 'B'])_"},
              {R"_({{ [1, 2, 3] | select('odd') | list }} {{ [{'r': 'a'}, {'r': 'b'}] | selectattr('r', 'equalto', 'a') | list }} {{ [{'r': 'a'}, {'r': 'b'}] | rejectattr('r', 'in', ['a']) | map(attribute='r') | list }})_",
               R"_([1, 3] [{'r': 'a'}] ['b'])_"},
              {R"_({{ ['a', 'b'] | map('upper') | join }} {{ [[1, 2], [3]] | map('length') | list }} {{ [{'a': {'b': 1}}] | map(attribute='a.b') | list }} {{ [1, 2] | sum }} {{ [2, 1] | min }} {{ 'ab' | reverse }} {{ [1, 2] | reverse | list }})_",
               R"_(AB [2, 1] [1] 3 1 ba [2, 1])_"},
              {R"_({{ [1, 2] | first }} {{ [1, 2] | last }} {{ [] | first }}| {{ none | selectattr('a') | list }} {{ ([] | map('upper')) is true }} {{ 'x' if [] | select else 'y' }})_",
               R"_(1 2 | [] False x)_"},
              {R"_({{ '5' | int + 1 }} {{ 'x' | int(7) }} {{ 3.9 | int }} {{ '2.5' | float }} {{ 2.5 | round }} {{ 2.345 | round(2) }} {{ 7 | string + 'a' }} {{ '%s=%d' | format('a', 2.25) }} {{ '%d%%' % 5 }})_",
               R"_(6 7 3 2.5 2.0 2.35 7a a=2 5%)_"},
              {R"_({{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent('> ', blank=true) }})_",
               R"_(a
    b

    c|  a
  b|a
> 
> b)_"},
              {R"_({{ '{} {}'.format(1, 'b') }} {{ '<a>' | safe }} {{ ' a ' | trim }} {{ 'xax' | trim('x') }})_",
               R"_(1 b <a> a a)_"},
              {R"_({{ 1 is integer }} {{ true is integer }} {{ true is number }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is sequence }} {{ {} is sequence }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ none is none }} {{ 4 is divisibleby 2 }} {{ 3 is odd }} {{ 1 is in [1] }} {{ 2 is gt 1 }} {{ x is undefined }} {{ 1 is not string }} {{ {}.items is callable }})_",
               R"_(True False True True True True True True False True True True True True True True True)_"},
              {R"_({{ {'items': 1}['items'] }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1}.get('b') }} {{ {'a': 1, 'b': 2}.keys() | list }} {{ {'a': 1}.values() | list }} {{ [1, 2].index(2) }} {{ [1, 1].count(1) }} {{ dict(a=1, b=2) }})_",
               R"_(1 2 None ['a', 'b'] [1] 1 2 {'a': 1, 'b': 2})_"},
              {R"_({% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}{{ b }}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %})_",
               R"_(x1102TrueFalse2('y', 2);y2211FalseTrue2('x', 1);)_"},
              {R"_({% for a in [1, 2, 3, 4] if a is even %}{{ a }}{{ loop.index }}{{ loop.cycle('x', 'y') }}{% else %}none{% endfor %}{% for a in [] %}{% else %}none{% endfor %})_",
               R"_(21x42ynone)_"},
              {R"_({% for a in [1, 2, 3, 4, 5] %}{% if a == 2 %}{% continue %}{% endif %}{% if a == 4 %}{% break %}{% endif %}{{ a }}{% endfor %})_",
               R"_(13)_"},
              {R"_({% for a in [[1, [2]], [3]] recursive %}{{ loop(a) if a is iterable else a }}{{ loop.depth }}{% endfor %})_",
               R"_(122321321)_"},
              {R"_({% set x = 1 %}{% for a in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }})_",
               R"_(121219)_"},
              {R"_({% set n = namespace(a=1) %}{% for a in [1, 2] %}{% set n.a = n.a + a %}{% endfor %}{{ n.a }}{{ n.b is defined }})_",
               R"_(4False)_"},
              {R"_({% macro f(a, b=2, c='x' ~ a) %}[{{ a }}{{ b }}{{ c }}{{ d }}]{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f() }}{{ f(b=5, a=1) | length }})_",
               R"_([12x1][123][2x]6)_"},
              {R"_({% macro g() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ g(1, 2, z=3) }}{% macro h(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) h(5) %}in{{ y }}{% endcall %}{{ g(*[1], **{'q': 2}) }})_", R"_((1, 2){'z': 3}<in5>(1,){'q': 2})_"},
              {R"_({% set t %}a{{ 1 }}b{% endset %}{{ t }}{% set u | upper %}abc{% endset %}{{ u }}{% filter upper | trim %} x{{ 'y' }} {% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }})_",
               R"_(a1bABCXY3)_"},
              {R"_({% set a, b = 1, [2] %}{{ a }}{{ b }}{% set (c, d) = 'xy' %}{{ c }}{{ d }}{{ (1, 2) }}{{ 1, 2 }}{{ () }})_",
               R"_(1[2]xy(1, 2)(1, 2)())_"},
              {R"_({% generation %}{% set z = 1 %}inside{{ z }}{% endgeneration %}{{ z }}{% raw %}{{ x }}{% endraw %}{# comment #}{{ "a" "b" }})_",
               R"_(inside1{{ x }}ab)_"},
              {R"_({{ range(3) | list }} {{ range(5, 1, -2) | list }} {{ [1, 2] + [3] }} {{ 'ab' * 2 }} {{ [0] * 2 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 == 1.0 }} {{ true + 1 }} {{ 10 | string | length }})_",
               R"_([0, 1, 2] [5, 3] [1, 2, 3] abab [0, 0] True True True 2 2)_"},
              {R"_(a
  {% if true %}
  b
  {% endif %}
c
)_",
               R"_(a
  b
c)_"},
              {R"_(a 
 {%- if true -%} 
 b 
 {%- endif %}
 c)_",
               R"_(ab c)_"},
              {R"_(  {%+ if true %}x{% endif +%}
 y)_",
               R"_(  x
 y)_"},
              {R"_(a  {{ 1 }}

{{ 2 -}}  
 b)_",
               R"_(a  1

2b)_"},
              {R"_({# c #}
 a
  {#- d -#}  
b

)_",
               R"_( ab
)_"},
              {"x\r\n{% if true %}\r\ny{% endif %}\r\n",
               R"_(x
y)_"},
              {R"_({% for a in [1,2] %}
  {{ a }}
{% endfor %}
)_",
               R"_(  1
  2
)_"},
              {R"_({%- raw -%}  {{ a }} {%- endraw -%} b)_", R"_({{ a }}b)_"},
              {"{{ '<' | e }}{{ 'a'|safe + '<' }}{{ '<'|safe ~ '>' }}{{ '<' + 'a' }}",
               "&lt;a&lt;<><a"},
          };
  for (const Row& row : rows) {
    INFO(row.source);
    CHECK(rendered(row.source) == row.expected);
  }
}

TEST_CASE("letter cases, formats and filters of chat templates are those of Jinja 3.1", "[chat]") {
  const Row
      rows[] =
          {
              {R"_({{ 'straße éß ŉ ﬁ ǆ İ' | upper }} {{ 'ÀÉΣ ΑΣ ΑΣΑ ΑΣ. İI' | lower }} {{ 'ÑANDÚ ñandú' | capitalize }} {{ 'ñandú ÉCOLE-été ǆ' | title }})_",
               R"_(STRASSE ÉSS ʼN FI Ǆ İ àéς ας ασα ας. i̇i Ñandú ñandú Ñandú École-Été Ǆ)_"},
              {R"_({{ 'éa ÀB ß한a ǆ 1b'.title() }} {{ 'ßa'.capitalize() }} {{ 'ΌΣΟΣ ΣΑΣ'.lower() }} {{ 'ა ⓐ ꭰ'.upper() }})_",
               R"_(Éa Àb Ss한A ǅ 1B Ssa όσος σας Ა Ⓐ Ꭰ)_"},
              {R"_({{ 'abc' is lower }} {{ 'aBc' is lower }} {{ 'ABC É' is upper }} {{ '12' is lower }} {{ 'éß ª' is lower }} {{ 'ǅ' is upper }} {{ 'ab'.islower() }} {{ 'AB'.isupper() }})_",
               R"_(True False True False True False True True)_"},
              {R"_({{ 2345 | round(-2) }} {{ 2350 | round(-2) }} {{ 2450 | round(-2) }} {{ -2350 | round(-2) }} {{ 2345.678 | round(-2) }} {{ 250.0 | round(-2) }} {{ 350.0 | round(-2) }} {{ -250.1 | round(-2) }} {{ 42 | round }} {{ 42.5 | round }} {{ 43.5 | round }} {{ 5 | round(-1) }} {{ 15 | round(-1) }} {{ 7 | round(2) }} {{ 2.675 | round(2) }} {{ 1e300 | round(20) }} {{ 3 | round(-20) }} {{ 42.55 | round(1, 'floor') }} {{ 42 | round(0, 'ceil') }} {{ 2345 | round(-2, 'floor') }} {{ true | round }})_",
               R"_(2300 2400 2400 -2400 2300.0 200.0 400.0 -300.0 42 42.0 44.0 0 20 7 2.67 1e+300 0 42.5 42.0 2300.0 1)_"},
              {R"_({{ range(3) }} {{ range(1, 10, 3) }} {{ range(5, 1, -2) }} {{ range(10)[2:8:2] }} {{ range(10)[::-1] }} {{ range(3) | list }} {{ range(3) == [0, 1, 2] }} {{ range(3) is sequence }} {{ range(4)[1] }} {{ range(3) | length }} {{ [range(2)] }})_",
               R"_(range(0, 3) range(1, 10, 3) range(5, 1, -2) range(2, 8, 2) range(9, -1, -1) [0, 1, 2] False True 1 3 [range(0, 2)])_"},
              {R"_({{ {'a': 1}.items() }} {{ {'a': 1, 'b': 2}.keys() }} {{ {'a': 1}.values() }})_",
               R"_(dict_items([('a', 1)]) dict_keys(['a', 'b']) dict_values([1]))_"},
              {R"_({% for g in [{'c': 'b', 'n': 1}, {'c': 'A', 'n': 2}, {'c': 'B', 'n': 3}] | groupby('c') %}{{ g.grouper }}:{{ g.list | map(attribute='n') | list }};{% endfor %}{% for k, l in [{'c': 2}, {'c': 1}] | groupby('c') %}{{ k }}{{ l }}{% endfor %}{{ [{'c': 1}] | groupby('c') }})_",
               R"_(A:[2];b:[1, 3];1[{'c': 1}]2[{'c': 2}][(1, [{'c': 1}])])_"},
              {R"_({% for k, l in [{'c': 'x'}, {'d': 1}] | groupby('c', default='none') %}{{ k }}{{ l | length }} {% endfor %}{% for k, l in ['Bb', 'a', 'bB'] | groupby(0, case_sensitive=true) %}{{ k }}{{ l }}{% endfor %})_",
               R"_(none1 x1 B['Bb']a['a']b['bB'])_"},
              {R"_({{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3] | batch(2, 'x') | list }} {{ range(7) | slice(3) | list }} {{ [1, 2, 3, 4] | slice(3, '-') | list }} {{ [] | batch(2) | list }})_",
               R"_([[1, 2], [3, 4], [5]] [[1, 2], [3, 'x']] [[0, 1, 2], [3, 4], [5, 6]] [[1, 2], [3, '-'], [4, '-']] [])_"},
              {R"_({{ 'foo bar baz qux' | truncate(9) }}|{{ 'foo bar baz qux' | truncate(9, true) }}|{{ 'foo bar baz qux' | truncate(11) }}|{{ 'foo bar baz qux' | truncate(11, false, '...', 0) }}|{{ '한국어 문장입니다' | truncate(5, leeway=0, end='') }})_",
               R"_(foo...|foo ba...|foo bar baz qux|foo bar...|한국어)_"},
              {R"_({{ 'Two words, l’été_3 --' | wordcount }} {{ '' | wordcount }} {{ 'ab' | center(7) }}| {{ 'abc' | center(6) }}| {{ 'a b/é?' | urlencode }} {{ '<a>' | forceescape }} {{ {'a': 1} | attr('a') }}|{{ 'x' | safe is escaped }})_",
               R"_(4 0    ab  |  abc  | a%20b/%C3%A9%3F &lt;a&gt; |True)_"},
              {R"_({{ '%.2f' % 3.14159 }} {{ '%5.1f|%-6d|%06.2f|%+d|% d' % (2.25, 42, 3.14159, 5, 7) }} {{ '%x %X %o %#x' % (255, 255, 8, 255) }} {{ '%e %E %g %G' % (12345.678, 0.00012, 1e20, 0.5) }} {{ '%5s|%-5s|%.2s' % ('ab', 'ab', 'abc') }} {{ '%r %s' % ('a', [1, 'b']) }} {{ '%(x)s-%(y).1f' % {'x': 1, 'y': 2} }} {{ '%s' % {'a': 1} }} {{ '%d%%' % 7.9 }} {{ '%.0f %.0f' % (0.5, 1.5) }} {{ '%i' % -3 }} {{ '%05d' % -42 }} {{ '%f' % 1 }})_", R"_(3.14   2.2|42    |003.14|+5| 7 ff FF 10 0xff 1.234568e+04 1.200000E-04 1e+20 0.5    ab|ab   |ab 'a' [1, 'b'] 1-2.0 {'a': 1} 7% 0 2 -3 -0042 1.000000)_"},
              {R"_({{ '%s is %.1f' | format('x', 2) }} {{ '%(a)s' | format(a=3) }} {{ '{:.2f} {:>5}|{:<5}|{:^5}|{:05d}'.format(2.5, 'ab', 'ab', 'ab', 42) }} {{ '{0}{1}{0} {n}'.format('a', 'b', n=1) }} {{ '{:,} {:,.1f} {:x} {:.1%} {:+d}'.format(1234567, 1234.56, 255, 0.256, 3) }} {{ '{{}} {!r}'.format('q') }} {{ '{:*^7}'.format('é') }} {{ '{:.3}'.format('abcdef') }})_",
               R"_(x is 2.0 3 2.50    ab|ab   | ab  |00042 aba 1 1,234,567 1,234.6 ff 25.6% +3 {} 'q' ***é*** abc)_"},
              {R"_({% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}{% set j = joiner(', ') %}{% for x in [1, 2] %}{{ j() }}{{ x }}{% endfor %}{% set k = joiner() %}{{ k() }}{{ k() }})_",
               R"_(abccaNonea1, 2, )_"},
              {R"_({{ 12345678901234567890 }} {{ {'id': 98765432109876543210, 'm': -98765432109876543210} | tojson }} {{ 18446744073709551615 == 18446744073709551615 }} {{ 12345678901234567890 is integer }} {{ '12345678901234567890' | int }} {{ -12345678901234567890 | abs }} {{ 12345678901234567890 < 12345678901234567891 }} {{ [98765432109876543210] }} {{ 12345678901234567890 ~ '' }} {{ 9223372036854775808 == 9223372036854775807 }})_",
               R"_(12345678901234567890 {"id": 98765432109876543210, "m": -98765432109876543210} True True 12345678901234567890 12345678901234567890 True [98765432109876543210] 12345678901234567890 False)_"},
              {R"_({{ 1e20 | int }} {{ '1e19' | int }} {{ -2.5e18 | int }} {{ 'aXbX'.rfind('X') }} {{ 'a'.rfind('b') }}{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %})_",
               R"_(100000000000000000000 10000000000000000000 -2500000000000000000 3 -1TrueFalseTrue)_"},
              {R"_({{ ['É', 'e', 'é', 'Z'] | sort }} {{ ['É', 'é'] | unique | list }} {{ 'upper' is filter }} {{ 'nothing' is test }} {{ 'odd' is test }})_",
               R"_(['e', 'Z', 'É', 'é'] ['É'] True False True)_"},
          };
  for (const Row& row : rows) {
    INFO(row.source);
    CHECK(rendered(row.source) == row.expected);
  }
}

TEST_CASE("whole numbers of any size reach a chat template with all digits", "[chat]") {
  const char* messages = R"([{"role": "assistant", "content": "", "tool_calls": [
      {"function": {"name": "f", "arguments": {"id": 12345678901234567890, "n": [-98765432109876543210]}}}]}])";
  CHECK(rendered("{{ messages[0].tool_calls[0].function.arguments | tojson }}", "{}", messages) ==
        R"({"id": 12345678901234567890, "n": [-98765432109876543210]})");
  CHECK(rendered("{{ messages[0].tool_calls[0].function.arguments }}", "{}", messages) ==
        "{'id': 12345678901234567890, 'n': [-98765432109876543210]}");
}

TEST_CASE("errors of chat templates name the line and the cause", "[chat]") {
  const Row rows[] = {
      {"a\n{{ 1 + }}", "line 2: expected an expression, got '}}'"},
      {"\n\n{% if x %}", "line 3: expected {% endif %}, got the end of the template"},
      {"{% include 'x' %}", "line 1: expected a statement"},
      {"a\n{{ x.y }}", "line 2: 'x' is undefined"},
      {"{{ messages[0].a.b }}", "a value of type dict has no 'a'"},
      {"{{ raise_exception('no tools') }}", "line 1: the template refuses the messages: no tools"},
      {"{{ 1 / 0 }}", "a division by zero"},
      {"{{ 'a' + 1 }}", "there is no str + int"},
      {"{{ 'a' | nothing }}", "there is no filter 'nothing'"},
      {"{{ [].append(1) }}", "has no 'append'"},
      {"{{ ''.__class__ }}", "unsafe"},
      {"{{ 9223372036854775807 + 1 }}", "outside the range of 64 bits"},
      {"{{ 12345678901234567890 + 1 }}", "outside the range of 64 bits"},
      {"{{ '%d' % 'a' }}", "expected a number, got a value of type str"},
      {"{{ '%q' % 1 }}", "a format supports only"},
      {"{{ \"", "a text has no end"},
      {"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "macro 'f' takes at most 1 arguments, got 2"},
      {"\xff", "invalid UTF-8 at byte 0"},
  };
  for (const Row& row : rows) {
    INFO(row.source);
    CHECK_THAT(error_of(row.source), contains_text(row.expected));
  }
}

TEST_CASE("hostile chat templates end with an error", "[chat]") {
  const auto times = [](int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += text;
    }
    return all;
  };
  const Row rows[] = {
      {"{{ 'a' * 10**9 }}", "bytes"},
      {"{{ [1] * 10**9 }}", "bytes"},
      {"{{ range(10**9) }}", "at most 100000 numbers"},
      {"{% for a in range(9**5) %}{% for b in range(9**5) %}{% endfor %}{% endfor %}", "bytes"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested deeper"},
      {"{{ " + times(500, "(") + "1" + times(500, ")") + " }}", "nested deeper"},
      {"{{ x" + times(5000, ".a") + " }}", "nested deeper"},
      {"{{ 1" + times(5000, "+1") + " }}", "nested deeper"},
      {times(5000, "{% if x %}"), "nested deeper"},
      {"{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}",
       "nested deeper"},
      {"{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor "
       "%}"
       "{{ n.x == n.x }}{{ n.x | tojson }}",
       "steps"},
      {"{% set n = namespace(x='ab') %}{% for i in range(90) %}{% set n.x = n.x + n.x %}{% endfor "
       "%}",
       "bytes"},
      {"{% set a = 'a' * 10**6 %}{% for i in range(10**5) %}{{ 'b' in a }}{% endfor %}", "bytes"},
      {"{{ '%1000000000d' % 1 }}", "width or precision above"},
      {"{{ '%.1000000000f' % 1 }}", "width or precision above"},
      {"{{ '{:1000000000}'.format(1) }}", "width or precision above"},
      {"{{ '{a.b}'.format(a=1) }}", "there is no argument 'a.b'"},
      {"{{ [1] | batch(10**9, 1) | list }}", "bytes"},
      {"{{ [1] | slice(10**9) | list }}", "1 to 100000 columns"},
      {"{{ 'a' | center(10**9) }}", "at most 100000"},
      {"{{ {}|tojson(indent=10**9) }}", "indent"},
  };
  for (const Row& row : rows) {
    INFO(row.source.substr(0, 120));
    CHECK_THAT(error_of(row.source), contains_text(row.expected));
  }
}

TEST_CASE("templates with names write the formats of their models") {
  const std::string chat =
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
          {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}])";
  const std::map<std::string, std::string> expected{
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
       "<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>"
       "assistant\n"},
      {"gemma",
       "<bos><start_of_turn>user\nS\n\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
       "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"},
      {"hermes",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
       "<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>"
       "assistant\n"},
      {"llama2", "<bos>[INST] <<SYS>>\nS\n<</SYS>>\n\na [/INST] b <eos><bos>[INST] c [/INST]"},
      {"llama3",
       "<bos><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"mistral", "<bos>[INST] a[/INST] b<eos>[INST] S\n\nc[/INST]"},
      {"phi3",
       "<|system|>\nS<|end|>\n<|user|>\na<|end|>\n<|assistant|>\nb<|end|>\n<|user|>\nc<|end|>\n"
       "<|assistant|>\n"},
      {"zephyr",
       "<|system|>\nS<eos>\n<|user|>\na<eos>\n<|assistant|>\nb<eos>\n<|user|>\nc<eos>\n"
       "<|assistant|>\n"}};
  CHECK(chat_template_names().size() == expected.size());
  for (const auto& [name, text] : expected) {
    INFO(name);
    CHECK(rendered(read_chat_template(name), R"({"bos_token": "<bos>", "eos_token": "<eos>"})",
                   chat) == text);
  }
  CHECK_THROWS_WITH(read_chat_template("chatlm"),
                    "chat_template: expected a file, chatml, gemma, hermes, llama2, llama3, "
                    "mistral, phi3, zephyr, got 'chatlm'; did you mean 'chatml'?");
}

TEST_CASE("the template hermes shows tools and their calls and results") {
  const std::string chat =
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
          {"role": "assistant", "content": "b", "tool_calls": [
            {"function": {"name": "f", "arguments": {"x": 1}}},
            {"function": {"name": "f", "arguments": {}}}]},
          {"role": "tool", "content": "7"}])";
  const std::string text =
      ChatTemplate(read_chat_template("hermes"))
          .render({.messages = chat, .tools = R"([{"function": {"name": "f"}}])"});
  CHECK_THAT(text, contains_text("<|im_start|>system\nS\n\nYou may call"));
  CHECK_THAT(text, contains_text("<tools>\n{\"function\": {\"name\": \"f\"}}\n</tools>"));
  CHECK_THAT(text,
             contains_text("<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"
                           "b\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n"
                           "</tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                           "</tool_call><|im_end|>\n<|im_start|>tool\n<tool_response>\n7\n"
                           "</tool_response><|im_end|>\n<|im_start|>assistant\n"));
}
}  // namespace chat_template_test
