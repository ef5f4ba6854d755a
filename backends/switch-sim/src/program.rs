//! A program as it is interpreted: every name is an index.

/// A value of a field, a constant or a parameter. Signed values are extended to 128 bits.
pub type Word = u128;

/// A loaded program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) headers: Vec<Header>,
    pub(crate) fields: Vec<Field>,
    pub(crate) stacks: Vec<Stack>,
    /// The number of fields of variable length.
    pub(crate) variables: usize,
    /// By number; an unknown number keeps nothing.
    pub(crate) field_lists: Vec<(u64, Vec<usize>)>,
    pub(crate) errors: Errors,
    pub(crate) standard: Standard,
    pub(crate) states: Vec<State>,
    pub(crate) first_state: Option<usize>,
    pub(crate) order: Vec<usize>,
    pub(crate) counters: Vec<Array>,
    pub(crate) registers: Vec<Array>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) actions: Vec<Action>,
    pub(crate) tables: Vec<Table>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) ingress: Option<Node>,
    pub(crate) egress: Option<Node>,
}

/// An instance of a header, with its fields in a row.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) kind: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) is_metadata: bool,
    /// Bits of the fields of fixed width.
    pub(crate) bits: usize,
    /// The limit of a header with a variable field, in bytes.
    pub(crate) bytes_max: usize,
}

/// A field of one header.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) header: usize,
    pub(crate) width: u32,
    pub(crate) is_signed: bool,
    /// The place of a field of variable length; its width is zero.
    pub(crate) variable: Option<usize>,
}

impl Field {
    /// Cuts a value to the field's width.
    pub(crate) fn cut(&self, value: Word) -> Word {
        let value = value & mask(self.width);
        if self.is_signed {
            extend(value, self.width)
        } else {
            value
        }
    }
}

/// All bits of a width.
pub(crate) fn mask(width: u32) -> Word {
    if width >= 128 { Word::MAX } else { (1 << width) - 1 }
}

/// A two's complement number of a width, in 128 bits.
pub(crate) fn extend(value: Word, width: u32) -> Word {
    if width == 0 || width >= 128 {
        return value;
    }
    let shift = 128 - width;
    ((value << shift).cast_signed() >> shift).cast_unsigned()
}

/// Headers in a row, of which the first so many are filled.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) headers: Vec<usize>,
}

/// The numbers of the parser's errors.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    pub(crate) none: Word,
    pub(crate) too_short: Word,
    pub(crate) stack: Word,
    pub(crate) header: Word,
    pub(crate) timeout: Word,
    pub(crate) argument: Word,
}

/// The fields that the switch itself reads or writes.
#[derive(Debug, Default)]
pub(crate) struct Standard {
    pub(crate) ingress_port: usize,
    pub(crate) egress_spec: usize,
    pub(crate) egress_port: usize,
    pub(crate) instance_type: usize,
    pub(crate) packet_length: usize,
    pub(crate) mcast_grp: usize,
    pub(crate) egress_rid: usize,
    pub(crate) ingress_global_timestamp: usize,
    pub(crate) egress_global_timestamp: usize,
    pub(crate) enq_timestamp: usize,
    pub(crate) parser_error: usize,
    pub(crate) checksum_error: usize,
}

/// A header that is fixed, or chosen by the packet.
#[derive(Debug, Clone)]
pub(crate) enum HeaderPlace {
    Fixed(usize),
    Element(usize, Box<Expression>),
    Last(usize),
}

/// A field to write to.
#[derive(Debug, Clone)]
pub(crate) enum FieldPlace {
    Fixed(usize),
    Of(HeaderPlace, usize),
}

/// A value to be computed. Truth is 0 or 1.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Constant(Word),
    Field(usize),
    Of(HeaderPlace, usize),
    Parameter(usize),
    Register(usize, Box<Expression>),
    Valid(HeaderPlace),
    Same(HeaderPlace, HeaderPlace),
    LastIndex(usize),
    Size(usize),
    Not(Box<Expression>),
    Complement(Box<Expression>),
    IsNotZero(Box<Expression>),
    Extend(Box<Expression>, u32),
    Saturate(Box<Expression>, u32),
    Choice(Box<[Expression; 3]>),
    Two(Operator, Box<[Expression; 2]>),
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    /// Not below zero.
    SubtractSaturating,
    Multiply,
    Divide,
    Modulo,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    And,
    Or,
    Xor,
    Equal,
    NotEqual,
    Less,
    LessSigned,
    LessOrEqual,
    LessOrEqualSigned,
    BothTrue,
    EitherTrue,
}

/// One state of the parser.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) operations: Vec<Operation>,
    pub(crate) key: Vec<KeyPart>,
    pub(crate) cases: Vec<Case>,
    pub(crate) default: Option<usize>,
}

/// A step of the parser.
#[derive(Debug)]
pub(crate) enum Operation {
    Extract(usize),
    ExtractNext(usize),
    ExtractVariable(usize, Expression),
    ExtractNextVariable(usize, Expression),
    SetAhead(usize, Ahead),
    Advance(Expression),
    Verify(Expression, Expression),
    Primitive(Primitive),
}

/// Bits that are read and not taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) offset: usize,
    pub(crate) width: u32,
}

/// A part of a transition's key.
#[derive(Debug)]
pub(crate) enum KeyPart {
    Field(usize),
    Last(usize, usize),
    Ahead(Ahead),
}

/// One transition: a value and a mask for each part of the key.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) parts: Vec<(Word, Word)>,
    pub(crate) next: Option<usize>,
}

/// An array of counters or registers.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) width: u32,
}

/// A computation over bytes.
#[derive(Debug)]
pub(crate) struct Calculation {
    pub(crate) algorithm: Algorithm,
    pub(crate) inputs: Vec<Input>,
    pub(crate) has_payload: bool,
}

/// The computations that are known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Algorithm {
    /// The ones' complement of the ones' complement sum of 16-bit words (RFC 1071).
    InternetChecksum,
    /// The first eight bytes.
    Identity,
}

/// An input of a computation.
#[derive(Debug)]
pub(crate) enum Input {
    Field(usize),
    Constant(Word, u32),
    Header(usize),
}

/// A checksum.
#[derive(Debug)]
pub(crate) struct Checksum {
    pub(crate) target: usize,
    pub(crate) calculation: usize,
    pub(crate) updates: bool,
    pub(crate) verifies: bool,
    pub(crate) condition: Option<Expression>,
}

/// An action.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, u32)>,
    pub(crate) primitives: Vec<Primitive>,
}

/// A step of an action.
#[derive(Debug)]
pub(crate) enum Primitive {
    Assign(FieldPlace, Expression),
    AssignVariable(FieldPlace, FieldPlace),
    AssignHeader(HeaderPlace, HeaderPlace),
    AssignStack(usize, usize),
    Push(usize, Expression),
    Pop(usize, Expression),
    SetValid(HeaderPlace),
    SetInvalid(HeaderPlace),
    Drop,
    Clone(Expression, Expression),
    Resubmit(Expression),
    Recirculate(Expression),
    Count(usize, Expression),
    ReadRegister(FieldPlace, usize, Expression),
    WriteRegister(usize, Expression, Expression),
    Hash(FieldPlace, Expression, usize, Expression),
    Truncate(Expression),
    Assert(Expression),
    Jump(usize),
    JumpIfZero(Expression, usize),
    Exit,
    Nothing,
}

/// The next step of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Table(usize),
    Condition(usize),
}

/// The form of a table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) has_counters: bool,
    pub(crate) actions: Vec<Choice>,
    /// The next node after a hit and after a miss, where it does not depend on the action.
    pub(crate) by_hit: Option<(Option<Node>, Option<Node>)>,
    /// The next node without any action.
    pub(crate) without: Option<Node>,
    /// The action of a miss, by its place in `actions`, with its parameters.
    pub(crate) default: Option<(usize, Vec<Word>)>,
    pub(crate) is_default_constant: bool,
    pub(crate) entries: Vec<ConstantEntry>,
}

/// An action of a table.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) action: usize,
    pub(crate) next: Option<Node>,
}

/// A part of a table's key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) source: KeySource,
    pub(crate) kind: MatchKind,
    pub(crate) width: u32,
    pub(crate) mask: Word,
}

/// The value that a key is compared with.
#[derive(Debug)]
pub(crate) enum KeySource {
    Field(usize),
    Validity(usize),
}

/// The comparison of a part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// Equal in the first bits.
    Lpm,
    /// Equal under a mask.
    Ternary,
}

/// An entry that the program brings with it.
#[derive(Debug)]
pub(crate) struct ConstantEntry {
    pub(crate) parts: Vec<(Word, Word)>,
    /// A lower number is first.
    pub(crate) priority: u64,
    pub(crate) choice: usize,
    pub(crate) data: Vec<Word>,
}

/// A condition.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) expression: Expression,
    pub(crate) yes: Option<Node>,
    pub(crate) no: Option<Node>,
}
