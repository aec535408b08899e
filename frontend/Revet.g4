// The Revet language (docs/language.md).
//
// Every decision but the dangling else is made by one token, so prediction is SLL and cheap. Where
// the language needs more than that, tokens.cpp looks at the neighbours of a token and gives it one
// of the types under `tokens`. Precedence is not in the grammar: an expression is a flat list of
// operands and operators, which parse.cpp groups, so that long chains cost no depth.
grammar Revet;

tokens {
  ELSE_IF,        // `else` before `if`
  FOREACH_VALUE,  // `foreach` where a statement cannot begin
  CAST_OPEN,      // `(` of `(int)`
  CAST_TYPE,      // type before `(`, as in `int(x)`
  TO, BY,         // in the header of a foreach, after an operand
  REDUCE          // after the header of a foreach
}

file : item* EOF ;

item
  : CONST TYPE declarator (',' declarator)* ';'
  | TYPE IDENT (parameters block | ('=' expression)? (',' declarator)* ';')
  | memory ';'
  | ';'
  ;

parameters : '(' (TYPE IDENT (',' TYPE IDENT)*)? ')' ;

declarator : IDENT ('=' expression)? ;

memory
  : MEMORY '<' templateArgument (',' templateArgument)* '>' IDENT
    ('[' expression ']' | '(' expression (',' expression)* ')')?
  ;

templateArgument : TYPE | templateExpression ;

// Without `< > <= >= << >>`, which may stand in parentheses.
templateExpression
  : operand
    ( ('||' | '&&' | '|' | '^' | '&' | '==' | '!=' | '+' | '-' | '*' | '/' | '%') operand
    | '?' templateExpression ':' operand
    )*
  ;

block : '{' statement* '}' ;

statement
  : block
  | IF condition statement (ELSE_IF IF condition statement)* (ELSE statement)?
  | WHILE condition statement
  | DO statement WHILE condition ';'
  | FOR '(' (TYPE declarator (',' declarator)* | expression)? ';' expression? ';' expression? ')' statement
  | FOREACH foreachRest
  | REPLICATE condition block
  | (BREAK | CONTINUE | EXIT) ';'
  | RETURN expression? ';'
  | memory ';'
  | CONST? TYPE declarator (',' declarator)* ';'
  | expression ';'
  | ';'
  ;

condition : '(' expression ')' ;

foreachRest
  : '(' expression (TO expression)? (BY expression)? ')'
    (REDUCE '(' ('+' | '*' | '&' | '|' | '^' | '&&' | '||' | IDENT) ')')?
    '{' TYPE IDENT '=>' statement* '}'
  ;

expression
  : operand
    ( ( '=' | '+=' | '-=' | '*=' | '/=' | '%=' | '<<=' | '>>=' | '&=' | '|=' | '^='
      | '||' | '&&' | '|' | '^' | '&' | '==' | '!=' | '<' | '>' | '<=' | '>=' | '<<' | '>>'
      | '+' | '-' | '*' | '/' | '%'
      ) operand
    | '?' expression ':' operand
    )*
  ;

operand
  : ('-' | '+' | '!' | '~' | '*' | '++' | '--' | CAST_OPEN TYPE ')')*
    ( NUMBER
    | CHARACTER
    | TRUE
    | FALSE
    | IDENT
    | CAST_TYPE '(' expression ')'
    | '(' expression ')'
    | FOREACH_VALUE foreachRest
    )
    ( '[' expression ']'
    | '(' (expression (',' expression)*)? ')'
    | '.' IDENT '(' expression ')'
    | '++'
    | '--'
    )*
  ;

// Named for the error recovery.
LPAREN : '(' ;
RPAREN : ')' ;
LBRACE : '{' ;
RBRACE : '}' ;
SEMICOLON : ';' ;
ARROW : '=>' ;

TYPE
  : 'int' | 'uint' | 'short' | 'ushort' | 'char' | 'bool' | 'float' | 'void'
  | 'int8' | 'int16' | 'int32' | 'uint8' | 'uint16' | 'uint32'
  ;
MEMORY
  : 'DRAM' | 'SRAM' | 'ReadView' | 'WriteView' | 'ModifyView'
  | 'ReadIt' | 'PeekReadIt' | 'WriteIt' | 'ManualWriteIt'
  ;
CONST : 'const' ;
IF : 'if' ;
ELSE : 'else' ;
WHILE : 'while' ;
DO : 'do' ;
FOR : 'for' ;
BREAK : 'break' ;
CONTINUE : 'continue' ;
RETURN : 'return' ;
EXIT : 'exit' ;
FOREACH : 'foreach' ;
REPLICATE : 'replicate' ;
TRUE : 'true' ;
FALSE : 'false' ;

IDENT : [A-Za-z_] [A-Za-z_0-9]* ;

// Anything that looks like a number or a character; literals.cpp says what is wrong with it.
NUMBER
  : '0' [xXbB] [0-9A-Za-z_]*
  | [0-9]+ ('.' [0-9]*)? ([eE] [+-]? [0-9]+)? [0-9A-Za-z_]*
  | '.' [0-9]+ ([eE] [+-]? [0-9]+)? [0-9A-Za-z_]*
  ;
CHARACTER : '\'' (~['\\\r\n] | '\\' ~[\r\n])* '\''? ;

SPACE : [ \t\r\n\u000B\u000C]+ -> skip ;
// An unclosed comment does not get here: source_text.cpp reports it and cuts the text.
COMMENT : ('//' ~[\n]* | '/*' .*? '*/') -> skip ;

// So that the lexer never fails. parse.cpp reports it, and the parser stumbles over it.
STRAY : . ;
